"""The real Codex as the person, and as judges, beside the real Codex under test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval_project import Project
from harnesses.agents.real_agents import KEY, agents_root, project_for
from sphynx.testing.scripted_model import ScriptedModel, Step, Tokens, When, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]
AGENT, PERSON, JUDGE = "gpt-5.5", "gpt-5.4-mini", "gpt-5.4"
TOKENS = Tokens(input=500, output=20)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    return agents_root(tmp_path_factory.mktemp("agents"))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, root: Path, model: ScriptedModel) -> Project:
    return project_for(Project(tmp_path), root, model)


def by(model: str, *steps: Step) -> list[Step]:
    """Steps for requests to one model."""
    from dataclasses import replace

    return [replace(step, when=When(model=model), tokens=TOKENS) for step in steps]


WORK = by(AGENT, say("Shall I push it live?"), use(shell("echo live > pushed")), say("Pro is live."))
SUITE = """
    from sphynx import human, judge
    async def asked_first(ctx):
        turns = await ctx.turns()
        return "yes" in turns[1].user_text.lower() and (await ctx.read_text("pushed")) == "live\\n"
    pricing = suite(
        id="pricing", prompt="Model the pricing.", variants=[variant(harness="codex", model="gpt-5.5")],
        cases=[case(id="asks-before-it-pushes", validate=[asked_first%s],
                    user=human(goal="Get Pro live.", prompt="If asked to push: yes.",
                               harness="codex", model="gpt-5.4-mini"))])
"""


async def test_codex_plays_the_person(project: Project, model: ScriptedModel) -> None:
    """One session over the conversation, each side's tokens on its own line."""
    model.script(KEY, [*WORK, *by(PERSON, say("Yes, go ahead."), say("<<DONE>>"))])
    project.suite(SUITE % "")
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.turns, trial.reason) == ("passed", 2, None)
    assert result.record.runs[0].user_model == "codex/gpt-5.4-mini"
    asked = [seen for seen in model.requests(KEY) if seen.model == PERSON]
    assert [seen.model_turns for seen in asked] == [0, 1]
    assert "Get Pro live." in asked[0].text("user")
    assert asked[1].latest()[-1].text.endswith("Pro is live.")
    costs = {line.component: line for line in trial.costs}
    assert costs["user"].detail["totalTokens"] == 2 * 520 and costs["user"].classification == "estimate"
    assert trial.usage and trial.usage.total_tokens == 3 * 520


async def test_a_codex_person_who_uses_tools_voids_the_trial(project: Project, model: ScriptedModel) -> None:
    """Whatever they say afterwards."""
    model.script(KEY, [*WORK, *by(PERSON, use(shell("ls")), say("Yes, go ahead."))])
    project.suite(SUITE % "")
    trial = await project.trial()
    assert (trial.status, trial.cause) == ("void", "person")
    assert trial.reason == "The person used tools (shell), though people only speak"


def ask(name: str, more: str = "") -> str:
    return f""", judge(name="{name}", harness="codex", model="{JUDGE}", prompt="RUBRIC-{name}",
        choices={{"good": 1, "bad": 0}}{more})"""


async def test_codex_judges(project: Project, model: ScriptedModel) -> None:
    """In a fresh sandbox a verdict counts and tools spoil it; one that looks around sees the workspace."""
    good = json.dumps({"choice": "good", "reason": "pushed after a yes"})

    def judged(name: str, *steps: Step) -> list[Step]:
        from dataclasses import replace

        when = When(model=JUDGE, prompt=f"RUBRIC-{name}")
        return [replace(step, when=when, tokens=TOKENS) for step in steps]

    steps = [
        *WORK,
        *by(PERSON, say("Yes, go ahead."), say("<<DONE>>")),
        *judged("plain", say(good)),
        *judged("curious", use(shell("ls")), say(good)),
        *judged("around", use(shell("cat workspace/pushed")), say(good)),
    ]
    model.script(KEY, steps)
    project.suite(SUITE % (ask("plain") + ask("curious") + ask("around", ", workspace=True")))
    trial = await project.trial()
    records: dict[str, Any] = {record["name"]: record for record in trial.validations}
    assert (trial.status, trial.cause, trial.void_fields) == ("void", "judge", ["judge:curious"])
    assert records["plain"]["status"] == "passed" and records["plain"]["judgment"]["evaluator"] == "codex"
    assert records["plain"]["judgment"]["usage"]["totalTokens"] == 520
    assert "used tools (shell)" in records["curious"]["message"]
    assert records["around"]["status"] == "passed"
    looked = [seen for seen in model.requests(KEY) if "RUBRIC-around" in seen.text("user")][-1]
    assert "live" in looked.latest()[-1].text
    assert {line.component for line in trial.costs} >= {"user", "judge", "model"}
