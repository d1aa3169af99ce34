"""Judges and people on the command line: before a run and after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sphynx.cli.main import main
from sphynx.testing.scripted_model import ScriptedModel, When, say

FILE = """
from sphynx import human, judge, suite

def agent(turn, emit):
    return "It is five."

def asks(name, **more):
    return judge(name=name, model="gpt-5.4", prompt=f"R-{name}", choices={"good": 1, "bad": 0}, **more)

s = suite(id="s", prompt="2 + 2?", variants=[{"harness": agent, "model": "none"}], cases=[
    {"id": "one", "validate": [asks("tone", provider="openai"), asks("facts", provider="openai", votes=3)]},
    {"id": "two", "validate": asks("odd", provider="openai")},
])
PERSON
"""
PERSON = """
p = suite(id="p", prompt="x", variants=[{"harness": agent, "model": "none"}], cases=[
    {"id": "talk", "user": human(goal="g", prompt="b"), "validate": asks("agent", harness="codex")},
])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPHYNX_LOCAL_ROOT", str(tmp_path / "local"))
    for name in ("OPENAI_API_KEY", "SPHYNX_API_KEY", "SPHYNX_CODEX_AUTH_JSON"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def test_a_dry_run_says_who_is_missing_a_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person's key stops the run; a judge's is told before it starts, since its trials will be void."""
    (folder / "s_eval.py").write_text(FILE.replace("PERSON", ""))
    assert main(["eval", "--local", "--dry-run"]) == 1
    shown = capsys.readouterr().out
    assert "facts   openai/gpt-5.4, 3 times" in shown and "OPENAI_API_KEY is not set" in shown
    assert main(["eval", "--local"]) == 2
    assert (
        "OPENAI_API_KEY is not set (openai/gpt-5.4 judges): trials it should judge will be void"
        in capsys.readouterr().err
    )
    (folder / "s_eval.py").write_text(FILE.replace("PERSON", PERSON))
    assert main(["eval", "--local", "--dry-run"]) == 1
    shown = capsys.readouterr()
    assert "gpt-5.4-mini plays people; SPHYNX_USER_MODEL names another model" in shown.out
    assert "codex/gpt-5.4" in shown.out and "harness codex needs it" in shown.out
    assert "1 key is missing, nothing was started" in shown.err
    assert main(["eval", "--local"]) == 1
    assert "OPENAI_API_KEY is not set" in capsys.readouterr().err


def test_reasons_and_raw_answers_are_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Why a judge was content, why not, and what it said when it was no verdict."""

    def verdict(name: str, choice: str, reason: str):
        text = json.dumps({"choice": choice, "reason": reason})
        return say(text, when=When(system=f"R-{name}"))

    (folder / "s_eval.py").write_text(FILE.replace("PERSON", ""))
    steps = [verdict("tone", "good", "Polite enough."), verdict("facts", "bad", "Five is not four.")]
    with ScriptedModel({"*": [*steps, say("hard to say", when=When(system="R-odd"))]}) as model:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-screens-0123456789abc")
        monkeypatch.setenv("SPHYNX_OPENAI_BASE_URL", model.openai_url)
        assert main(["eval", "--local"]) == 2
    out = capsys.readouterr().out
    assert "Five is not four." in out and "judges <$0.01" in out
    assert 'judge: judge "odd" did not answer with one JSON object' in out
    assert main(["show", "--case", "one"]) == 0
    out = capsys.readouterr().out
    assert "✓ tone" in out and "Polite enough." in out and "✗ facts" in out
    assert "measured  facts: score 0, spread 0" in out
    assert main(["show", "--case", "two"]) == 0
    assert "answer │ hard to say" in capsys.readouterr().out
