"""A judge's answer is read strictly, and what judges and checks mean together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import load
from sphynx.engine.judging import verdict
from sphynx.judges.provider import read_response
from sphynx.judges.verdict import Answer, InvalidAnswer, parse, read
from sphynx.judges.voting import Vote, combined

CHOICES = {"pass": 1.0, "weak": 0.5, "fail": 0.0, "false": 0.0}


def case(name: str) -> dict[str, Any]:
    return next(found for found in load("judge-verdict") if found["id"] == name)


def test_worked_case_of_texts() -> None:
    """Fences, introductions, unknown choices, empty reasons and extra keys are no verdict."""
    found = case("judge-verdict-01")
    scores: list[float | None] = []
    for text in found["input"]["texts"]:
        try:
            scores.append(found["input"]["choices"][parse(text, found["input"]["choices"]).choice])
        except InvalidAnswer:
            scores.append(None)
    assert scores == found["expected"]["scores"]


@pytest.mark.parametrize(
    "text",
    [
        '{"choice": false, "reason": "x"}',
        '{"choice": ["pass"], "reason": "x"}',
        '{"choice": "Pass", "reason": "x"}',
        '{"choice": "fail", "choice": "pass", "reason": "x"}',
        '{"choice": "pass", "reason": 1}',
        '{"choice": "pass", "reason": "' + "x" * 2001 + '"}',
        '["pass", "x"]',
        "null",
        "",
        "[" * 100_000,
    ],
)
def test_what_is_no_verdict(text: str) -> None:
    """``false`` is not ``"false"``, a key that stands twice hides nothing, a reason has an end."""
    with pytest.raises(InvalidAnswer):
        parse(text, CHOICES)
    assert parse('{"reason": "' + "x" * 2000 + '", "choice": "false"}', CHOICES).choice == "false"


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    """Any text is a verdict or is refused."""
    try:
        assert parse(text, CHOICES).choice in CHOICES
    except InvalidAnswer as error:
        assert str(error)


def test_the_order_of_refusals() -> None:
    """Tools, then a refusal, then half an answer, then the text."""
    good = '{"choice": "pass", "reason": "x"}'
    said = []
    for more in (
        {"tools": "shell", "refusal": "no", "incomplete": "y"},
        {"refusal": "no", "incomplete": "y"},
        {"incomplete": "y"},
    ):
        with pytest.raises(InvalidAnswer) as caught:
            read(Answer(good, **more), CHOICES)
        said.append(str(caught.value).split()[0])
    assert said == ["used", "refused", "gave"]
    assert read(Answer(good), CHOICES).choice == "pass"


def test_a_refusal_inside_a_response_is_seen() -> None:
    """Its words are kept as the raw answer, and tokens are counted without the cached ones."""
    part = {"type": "refusal", "refusal": "I will not judge people"}
    answer = read_response(
        {
            "status": "completed",
            "output": [{"type": "reasoning"}, {"type": "message", "content": [part]}],
            "usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
        },
        "raw",
    )
    assert (answer.refusal, answer.text) == ("I will not judge people", "I will not judge people")
    assert answer.usage and (answer.usage.input_tokens, answer.usage.cache_read_tokens) == (6, 4)
    for broken in (
        {},
        {"output": 3},
        {"output": [{"content": 1}]},
        {"status": "failed", "error": {"message": "oh"}},
    ):
        assert read_response(broken, "raw").text == "raw"
        with pytest.raises(InvalidAnswer):
            read(read_response(broken, "raw"), CHOICES)


def test_worked_case_of_trials() -> None:
    """A judge in error voids the trial, a failing one fails it, a passing one mends nothing."""
    found = case("judge-verdict-02")
    rows = found["input"]["trials"]
    for number, row in enumerate(rows):
        if row["code"] == "void":
            continue  # judges are not asked then: shown on a real trial
        names = row.get("names") or [f"j{place}" for place in range(len(row["judges"]))]
        records = [
            {"name": name, "status": status} for name, status in zip(names, row["judges"], strict=True)
        ]
        status, exit_code, lost = verdict(row["code"], records)
        assert status == found["expected"]["status"][number]
        assert exit_code == found["expected"]["exitCode"][number]
        assert lost == found["expected"]["voidFields"][number]


def test_the_vote_in_the_middle_decides() -> None:
    """The median score with its own reason; one vote without a verdict leaves none at all."""
    votes = [Vote("pass", 1.0, "a"), Vote("fail", 0.0, "b"), Vote("weak", 0.5, "c")]
    judgment = combined(votes)
    assert (judgment.decisive.choice, judgment.decisive.reason, judgment.spread) == ("weak", "c", 1.0)
    lost = combined([votes[0], Vote(error="no answer"), votes[2]])
    assert (lost.decisive.score, lost.decisive.error) == (None, "no answer")
