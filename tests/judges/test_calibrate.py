"""``sphynx judge calibrate``: agreement with people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.cli.main import main
from sphynx.judges.agreement import agreement
from sphynx.testing.scripted_model import ScriptedModel, When, fail, say

JUDGE = {
    "name": "tone",
    "provider": "openai",
    "model": "gpt-5.4-mini",
    "prompt": "Is it polite?",
    "choices": {"good": 1, "bad": 0},
}

EXAMPLE = {"output": "x", "label": "good"}


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-calibrate-0123456789abc")
    monkeypatch.setenv("SPHYNX_OPENAI_BASE_URL", f"{model.url}/calibrate/v1")
    monkeypatch.setenv("SPHYNX_LOCAL_ROOT", str(tmp_path / "local"))
    return tmp_path


def verdicts(choices: dict[str, str], model: ScriptedModel) -> None:
    """The model chooses by what the answer says."""
    steps = [
        say(json.dumps({"choice": choice, "reason": f"it says {word}"}), when=When(prompt=word))
        for word, choice in choices.items()
    ]
    model.script("/calibrate", steps)


def write(folder: Path, value: Any, name: str = "answers.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value) if name.endswith(".json") else "\n".join(map(json.dumps, value)))
    return path


def test_agreement_confusion_and_kappa_are_printed(
    folder: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every answer is asked about; where the judge differs its reason is shown."""
    verdicts({"please": "good", "thanks": "good", "shut": "bad", "fool": "good"}, model)
    examples = [
        {"input": "Hi", "output": "please", "label": "good"},
        {"input": "Hi", "output": "thanks", "label": "good"},
        {"input": "Hi", "output": "shut up", "label": "bad"},
        {"id": "rude", "input": "Hi", "output": "fool", "label": "bad"},
    ]
    write(folder, {"judge": JUDGE, "examples": examples})
    assert main(["judge", "calibrate", "answers.json"]) == 0
    out = capsys.readouterr().out
    assert "rude: labelled bad, judged good: it says fool" in out
    assert "agreement  3 of 4 (75%)" in out and "kappa      0.50" in out
    sent = json.loads(model.requests("/calibrate")[-1].body["input"])
    assert [list(step) for step in sent["conversation"]] == [["user"], ["agent"]]
    assert main(["judge", "calibrate", "answers.json", "--json", "--min-kappa", "0.6"]) == 2
    value = json.loads(capsys.readouterr().out)
    assert (value["agreement"], value["kappa"], value["scored"]) == (0.75, 0.5, 4)
    assert value["confusion"] == {"good": {"good": 2, "bad": 0}, "bad": {"good": 1, "bad": 1}}
    assert value["rows"][3]["choice"] == "good" and value["costUsd"] > 0


def test_the_judge_of_an_eval_file(
    folder: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named by file and name; JSON lines hold one answer each, files and steps included."""
    verdicts({"please": "good"}, model)
    (folder / "tone_eval.py").write_text(
        "from sphynx import judge, suite\n"
        "tone = judge(name='tone', provider='openai', model='gpt-5.4-mini', prompt='p',\n"
        "             files=['a.md'], choices={'good': 1, 'bad': 0})\n"
        "demo = suite(id='demo', prompt='x', variants=[dict(harness='codex', model='m')],\n"
        "             cases=[dict(id='one', validate=tone)])\n"
    )
    rows = [
        {"output": "please", "label": "good", "files": {"a.md": "A"}, "conversation": [{"agent": "please"}]},
        {"output": "please", "label": "good"},
    ]
    write(folder, rows, "answers.jsonl")
    assert main(["judge", "calibrate", "answers.jsonl", "--judge", "tone_eval.py::tone"]) == 0
    out = capsys.readouterr().out
    assert "agreement  1 of 1 (100%)" in out and "kappa      undefined" in out
    assert "1 answer without a verdict, not counted" in out and "a.md is not there" in out
    assert main(["judge", "calibrate", "answers.jsonl", "--judge", "tone_eval.py::other"]) == 1
    assert 'has no judge "other"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "there is no example"),
        ([{"output": "x", "label": "good"}], "there is no judge to calibrate"),
        ({"judge": JUDGE, "examples": [{"output": "x"}]}, "example 1: label must be a text"),
        ({"judge": JUDGE, "examples": [{"output": "x", "label": "so"}]}, '"so" is no choice of judge "tone"'),
        ({"judge": JUDGE, "examples": [{"output": "x", "label": "good", "at": 1}]}, 'unknown key "at"'),
        (
            {"judge": {**JUDGE, "choices": {}}, "examples": [{"output": "x", "label": "good"}]},
            "1 to 20 choices",
        ),
        (
            {"judge": {**JUDGE, "voets": 3}, "examples": [{"output": "x", "label": "g"}]},
            'unknown field "voets"',
        ),
        ("text", "must hold a list of examples"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    folder: Path, value: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, exit 1, nothing asked."""
    write(folder, value)
    assert main(["judge", "calibrate", "answers.json"]) == 1
    assert words in capsys.readouterr().err


def test_no_verdict_at_all_is_an_error(
    folder: Path, model: ScriptedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never a perfect agreement over nothing."""
    model.script("/calibrate", [fail(401, "no such key")])
    write(folder, {"judge": JUDGE, "examples": [{"output": "x", "label": "good"}]})
    assert main(["judge", "calibrate", "answers.json"]) == 1
    assert "no answer could be judged" in capsys.readouterr().err


PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=40)


@given(PAIRS)
def test_kappa_stays_between_its_bounds(pairs: list[tuple[str, str]]) -> None:
    """Never above 1, 1 exactly when all agree, none when chance explains everything."""
    found = agreement(pairs, list("abc"))
    assert found.scored == len(pairs) == sum(sum(row.values()) for row in found.confusion.values())
    if found.kappa is not None:
        assert -1 <= found.kappa <= 1
        assert (found.kappa == 1) == (found.agreed == found.scored)


def test_kappa_of_a_known_table() -> None:
    """The textbook's 50 grant proposals: 20 and 15 agreed, 5 and 10 not."""
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert agreement(pairs, ["y", "n"]).kappa == pytest.approx(0.4)
