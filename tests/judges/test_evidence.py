"""What a judge is shown: shapes, cuts and limits."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.journal.events import Event, Message
from sphynx.judges.evidence import TOTAL_LIMIT, bounded, compact, conversation, evidence
from sphynx.judges.files import fitted
from sphynx.redaction import utf16_length


def events_of(values: list[dict[str, Any]]) -> list[Event]:
    return [msgspec.convert(value, Event) for value in values]


@pytest.mark.parametrize("case", load("judge-evidence"), ids=case_id)
def test_worked_cases(case: dict[str, Any]) -> None:
    """Cuts of one text, the middle left out of a long conversation, and the shape of every step."""
    wanted = case["expected"]
    if "repeat" in case["input"] or isinstance(case["input"], list):
        texts = case["input"]
        shown = [conversation([Message(role="assistant", text=text)])[0]["agent"] for text in texts]
        assert [len(text) for text in shown] == wanted["lengths"]
        assert [text.endswith(wanted["suffix"][1]) for text in shown] == [False, True]
        return
    steps = conversation(events_of(case["input"]["events"]))
    if "conversation" in wanted:
        assert steps == wanted["conversation"]
        return
    assert utf16_length(compact(steps[0])) + 1 == wanted["entrySize"]
    assert len(steps) == wanted["entries"]
    assert steps[wanted["head"]] == {"omitted": wanted["omitted"]}
    assert len(steps) - wanted["head"] - 1 == wanted["tail"]


def test_exactly_the_limit_is_kept_whole() -> None:
    """One character more leaves something out."""
    step = {"agent": "y" * 989}
    size = len(compact(step)) + 1
    steps = [dict(step) for _ in range(TOTAL_LIMIT // size)]
    rest = TOTAL_LIMIT - size * len(steps)
    last = {"agent": "z" * (rest - len('{"agent":""}') - 1)} if rest > 13 else None
    whole = [*steps, *([last] if last else [])]
    assert bounded(whole) == whole
    longer = [*whole[:-1], {"agent": whole[-1]["agent"] + "z"}]
    assert any("omitted" in found for found in bounded(longer)) or not last


@given(st.lists(st.integers(0, 3_900), max_size=120))
def test_nothing_is_lost_without_being_counted(sizes: list[int]) -> None:
    """Start and end stay in order, their sum is bounded, and the gap says how many are missing."""
    steps = [{"agent": f"{number:04d}" + "x" * size} for number, size in enumerate(sizes)]
    kept = bounded(iter(steps))
    gaps = [step["omitted"] for step in kept if "omitted" in step]
    shown = [step for step in kept if "omitted" not in step]
    assert len(shown) + sum(gaps) == len(steps)
    assert [step for step in steps if step in shown] == shown
    assert sum(len(compact(step)) + 1 for step in shown) <= TOTAL_LIMIT


@given(st.text())
def test_text_of_the_agent_never_leaves_its_place_in_the_json(text: str) -> None:
    """Whatever an agent writes, the evidence parses to the same five keys with the text inside."""
    shown = evidence(
        prompt="p", steps=conversation([Message(role="assistant", text=text)]), answer=text, expected=None
    )
    value = json.loads(shown)
    assert list(value) == ["input", "conversation", "output", "expected"]
    assert value["output"] == text


@pytest.mark.parametrize("case", load("judge-files"), ids=case_id)
def test_files_fit_first_come_first_kept(case: dict[str, Any]) -> None:
    """A file over a limit takes no room from the files after it."""
    found = [
        (file["path"], None if file.get("missing") else "x" * file["chars"])
        for file in case["input"]["files"]
    ]
    assert [file.kind for file in fitted(found)] == case["expected"]["kinds"]
    for file in fitted(found):
        assert bool(file.problem) == (file.kind != "read")
        assert file.path in file.problem or file.kind == "read"
