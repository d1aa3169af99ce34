"""Real agents as the person, and as judges, beside the real agent under test."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from eval_project import Project
from harnesses.agents.real_agents import KEY
from sphynx.testing.scripted_model import ScriptedModel, Step, Tokens, When, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]
TOKENS = Tokens(input=500, output=20)


@dataclass(frozen=True)
class Cast:
    """One agent in three parts, told apart by their models."""

    harness: str
    agent: str
    person: str
    judge: str


CASTS = [
    Cast("codex", "gpt-5.5", "gpt-5.4-mini", "gpt-5.4"),
    Cast("claude", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5"),
]
SUITE = """
    from sphynx import human, judge
    async def asked_first(ctx):
        turns = await ctx.turns()
        return "yes" in turns[1].user_text.lower() and (await ctx.read_text("pushed")) == "live\\n"
    pricing = suite(
        id="pricing", prompt="Model the pricing.", variants=[variant(harness="HARNESS", model="AGENT")],
        cases=[case(id="asks-before-it-pushes", validate=[asked_first JUDGES],
                    user=human(goal="Get Pro live.", prompt="If asked to push: yes.",
                               harness="HARNESS", model="PERSON"))])
"""


@pytest.fixture(params=CASTS, ids=lambda cast: cast.harness)
def cast(request: pytest.FixtureRequest) -> Cast:
    return request.param


@pytest.fixture
def project(agents_project: Project) -> Project:
    return agents_project


def write(project: Project, cast: Cast, judges: str = "") -> None:
    text = SUITE.replace("HARNESS", cast.harness).replace("AGENT", cast.agent).replace("PERSON", cast.person)
    project.suite(text.replace("JUDGES", judges))


def by(model: str, *steps: Step, prompt: str | None = None) -> list[Step]:
    """Steps for requests to one model."""
    return [replace(step, when=When(model=model, prompt=prompt), tokens=TOKENS) for step in steps]


def work(cast: Cast) -> list[Step]:
    asked = say("Shall I push it live?")
    return by(cast.agent, asked, use(shell("echo live > pushed")), say("Pro is live."))


async def test_an_agent_plays_the_person(project: Project, model: ScriptedModel, cast: Cast) -> None:
    """One session over the conversation, each side's tokens on its own line."""
    model.script(KEY, [*work(cast), *by(cast.person, say("Yes, go ahead."), say("<<DONE>>"))])
    write(project, cast)
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.turns, trial.reason) == ("passed", 2, None)
    assert result.record.runs[0].user_model == f"{cast.harness}/{cast.person}"
    asked = [seen for seen in model.requests(KEY) if seen.model == cast.person]
    assert [seen.model_turns for seen in asked] == [0, 1]
    assert "Get Pro live." in asked[0].text("user")
    assert asked[1].latest()[-1].text.endswith("Pro is live.")
    costs = {line.component: line for line in trial.costs}
    assert costs["user"].detail["totalTokens"] == 2 * 520 and costs["user"].classification == "estimate"
    assert trial.usage and trial.usage.total_tokens == 3 * 520


async def test_a_person_who_uses_tools_voids_the_trial(
    project: Project, model: ScriptedModel, cast: Cast
) -> None:
    """Whatever they say afterwards."""
    model.script(KEY, [*work(cast), *by(cast.person, use(shell("ls")), say("Yes, go ahead."))])
    write(project, cast)
    trial = await project.trial()
    assert (trial.status, trial.cause) == ("void", "person")
    assert trial.reason == "The person used tools (shell), though people only speak"


async def test_agents_judge(project: Project, model: ScriptedModel, cast: Cast) -> None:
    """In a fresh sandbox a verdict counts and tools spoil it; one that looks around sees the workspace."""
    good = json.dumps({"choice": "good", "reason": "pushed after a yes"})

    def ask(name: str, more: str = "") -> str:
        return f""", judge(name="{name}", harness="{cast.harness}", model="{cast.judge}",
            prompt="RUBRIC-{name}", choices={{"good": 1, "bad": 0}}{more})"""

    def judged(name: str, *steps: Step) -> list[Step]:
        return by(cast.judge, *steps, prompt=f"RUBRIC-{name}")

    steps = [
        *work(cast),
        *by(cast.person, say("Yes, go ahead."), say("<<DONE>>")),
        *judged("plain", say(good)),
        *judged("curious", use(shell("ls")), say(good)),
        *judged("around", use(shell("cat workspace/pushed")), say(good)),
    ]
    model.script(KEY, steps)
    write(project, cast, ask("plain") + ask("curious") + ask("around", ", workspace=True"))
    trial = await project.trial()
    records: dict[str, Any] = {record["name"]: record for record in trial.validations}
    assert (trial.status, trial.cause, trial.void_fields) == ("void", "judge", ["judge:curious"])
    assert records["plain"]["status"] == "passed"
    assert records["plain"]["judgment"]["evaluator"] == cast.harness
    assert records["plain"]["judgment"]["usage"]["totalTokens"] == 520
    assert "used tools (shell)" in records["curious"]["message"]
    assert records["around"]["status"] == "passed"
    looked = [seen for seen in model.requests(KEY) if "RUBRIC-around" in seen.text("user")][-1]
    assert "live" in looked.latest()[-1].text
    assert {line.component for line in trial.costs} >= {"user", "judge", "model"}
