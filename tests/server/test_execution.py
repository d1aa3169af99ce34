"""What a server's trials can do beyond an agent and its checks: judges, people, mocks, lent keys."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.stored import everything_stored
from server.whole import Whole, whole
from sphynx.testing.scripted_model import ScriptedModel, Step, Tokens, When, say

pytestmark = pytest.mark.server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KEY = "sk-organization-0123456789abcdef"
FALLBACK = "sk-of-the-server-0123456789abcd"
JUDGED = """
from sphynx import case, judge, suite, variant

async def wrote(ctx):
    return await ctx.exists("out.md")

GOOD = {"good": 1, "bad": 0}
judged = suite(
    id="judged", prompt="Write it.",
    cases=[case(id="one", validate=[wrote, *[
        judge(name="tone", provider="openai", model="gpt-5.4-mini", prompt="Is it polite?", choices=GOOD,
              files=["out.md"], votes=3),
        judge(name="parts", provider="openai", model="gpt-5.4-mini", prompt="Is it whole?", choices=GOOD,
              criteria=["It greets.", "It ends."]),
    ]])],
    variants=[variant(harness="command", model="m", profile={"name": "mine", "dir": "./mine"})],
)
"""
PERSON = [
    say("It is $20, with 500 messages.", tokens=Tokens(200, 8), when=When(last="cost a month")),
    say("Yes, go ahead.", tokens=Tokens(220, 6), when=When(last="push it live")),
    say("<<DONE>>", tokens=Tokens(240, 4), when=When(last="is live")),
]


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel) -> Iterator[Whole]:
    environ = {"SPHYNX_OPENAI_BASE_URL": f"{model.url}/v1"}
    with whole(tmp_path_factory.mktemp("execution") / "data", environ=environ) as started:
        yield started


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    home = tmp_path / "project"
    shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns(".sphynx"))
    (home / "pyproject.toml").touch()
    return home


@pytest.fixture
def key_set(server: Whole, tmp_path: Path) -> Iterator[None]:
    done = server.cli("env", "set", "OPENAI_API_KEY", cwd=tmp_path, stdin=f"{KEY}\n")
    assert done.returncode == 0, done.stderr
    yield
    server.cli("env", "remove", "OPENAI_API_KEY", cwd=tmp_path)


def judged(folder: Path, says: str = "Hello.") -> Path:
    (folder / "mine").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    (folder / "judged_eval.py").write_text(JUDGED)
    message = json.dumps({"_tag": "Message", "role": "assistant", "text": says})
    manifest = {"run": f"echo polite > out.md; echo '{message}'"}
    (folder / "mine" / "profile.json").write_text(json.dumps(manifest))
    return folder


def verdict(choice: str) -> Step:
    return say(json.dumps({"choice": choice, "reason": "Because."}))


def met(*numbers: int) -> Step:
    decided = [{"number": n, "passed": True, "evidence": "It is there."} for n in numbers]
    return say(json.dumps({"criteria": decided, "instructed": False}))


def newest(server: Whole, cwd: Path) -> dict[str, Any]:
    with server.client() as client:
        batch = next(iter(client.evals.batches.list().batches))
        return client.evals.batches.get(batch.id).wire()


def only_trial(batch: dict[str, Any]) -> dict[str, Any]:
    ((trial,),) = ([*run["trials"]] for run in batch["runs"])
    return trial


@pytest.mark.usefixtures("key_set")
def test_a_person_a_mock_and_a_check_work_together_as_in_a_local_run(
    server: Whole, model: ScriptedModel, examples: Path
) -> None:
    """The example of a conversation: its mock runs in the sandbox, its person outside, billed apart."""
    model.script("/", PERSON, order="arrival")
    done = server.cli("eval", "pricing_eval.py", "--variant", "command/scripted", cwd=examples)
    assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()
    batch = newest(server, examples)
    trial = only_trial(batch)
    assert trial["status"] == "passed"
    assert batch["runs"][0]["variant"]["userModel"] == "gpt-5.4-mini"
    said = [one["text"] for one in trial["trajectory"] if one.get("role") == "user"]
    assert said[1:] == ["It is $20, with 500 messages.", "Yes, go ahead."]
    assert "user" in [line["component"] for line in trial["costs"]["laterComponents"]]


@pytest.mark.usefixtures("key_set")
def test_judges_are_asked_as_in_a_local_run_and_decide(
    server: Whole, model: ScriptedModel, tmp_path: Path
) -> None:
    """Files, votes and criteria reach the judge; a low score fails the trial; the spend has its own line."""
    model.script(
        "/", [verdict("good"), verdict("bad"), verdict("good"), met(1, 2)],
        order="arrival",
    )  # fmt: skip
    home = judged(tmp_path / "project")
    before = len(model.requests())
    done = server.cli("eval", cwd=home)
    trial = only_trial(newest(server, home))
    assert done.returncode == 0, (trial, server.log.read_text())
    asked = [json.dumps(request.body) for request in model.requests()[before:]]
    assert len(asked) == 4
    assert all("polite" in text for text in asked)
    assert ("1. It greets." in asked[3], asked[3].count("1. It greets.")) == (True, 1)
    kinds = [(one["kind"], one["name"], one["status"]) for one in trial["validations"]]
    assert kinds == [("code", "wrote", "passed"), ("judge", "tone", "passed"), ("judge", "parts", "passed")]
    assert "judge" in [line["component"] for line in trial["costs"]["laterComponents"]]
    model.script("/", [verdict("bad")] * 4, order="arrival")
    assert server.cli("eval", cwd=home).returncode == 2


def test_a_judge_without_a_key_voids_its_trial_and_a_person_without_one_is_refused_at_the_start(
    server: Whole, examples: Path, tmp_path: Path
) -> None:
    home = judged(tmp_path / "judged")
    assert server.cli("eval", cwd=home).returncode == 2
    trial = only_trial(newest(server, home))
    assert (trial["status"], trial["voidFields"]) == ("void", ["judge:tone", "judge:parts"])
    assert "OPENAI_API_KEY is not set" in trial["failure"]
    done = server.cli("eval", "pricing_eval.py", cwd=examples)
    assert done.returncode == 1
    wanted = (
        'not set: OPENAI_API_KEY (harness codex), OPENAI_API_KEY (the person of case "asks-before-it-pushes")'
    )
    assert wanted in done.stderr


def test_the_servers_own_key_serves_who_has_none_and_is_not_in_its_database(
    model: ScriptedModel, examples: Path, tmp_path: Path, new_database: str
) -> None:
    """On Postgres, where what is stored is looked at as in a dump."""
    environ = {"SPHYNX_OPENAI_BASE_URL": f"{model.url}/v1", "OPENAI_API_KEY": FALLBACK}
    model.script("/", PERSON, order="arrival")
    with whole(tmp_path / "data", environ=environ, database_url=new_database) as server:
        assert server.cli("env", "set", "UNUSED", cwd=examples, stdin=f"{KEY}\n").returncode == 0
        done = server.cli("eval", "pricing_eval.py", "--variant", "command/scripted", cwd=examples)
        assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()
    stored = everything_stored(new_database)
    assert any("It is $20, with 500 messages." in text for text in stored)
    assert not [text for text in stored if FALLBACK in text or KEY in text]
    assert FALLBACK not in server.log.read_text()


def test_no_key_of_all_these_runs_is_stored_or_logged(server: Whole) -> None:
    """Every value of every table, decoded; runs last, when the others have left their traces."""
    stored = everything_stored(server.data / "sphynx.db")
    assert any("It is $20, with 500 messages." in text for text in stored)
    assert not [text for text in stored if KEY in text]
    assert KEY not in server.log.read_text()
    files = [path for path in server.data.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
