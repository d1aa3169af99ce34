"""The example of a conversation, run as a reader runs it, with a model that plays a script."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cli.command_line import CommandLine, Done
from harnesses.agents.real_agents import KEY as AGENTS_KEY
from harnesses.agents.real_agents import project_for
from sphynx.schema.records import CostLine, TrialRecord
from sphynx.testing.scripted_model import ScriptedModel, Step, Tokens, When, fail, say, shell, use

EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = "sk-person-0123456789abcdefghi"
PERSON = [
    say("It is $20, with 500 messages.", tokens=Tokens(200, 8), when=When(last="cost a month")),
    say("Yes, go ahead.", tokens=Tokens(220, 6), when=When(last="push it live")),
    say("<<DONE>>", tokens=Tokens(240, 4), when=When(last="is live")),
]


@pytest.fixture
def project(tmp_path: Path, model: ScriptedModel) -> CommandLine:
    made = CommandLine(tmp_path)
    shutil.copytree(EXAMPLES, made.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".sphynx"))
    made.env |= {"OPENAI_API_KEY": KEY, "SPHYNX_OPENAI_BASE_URL": f"{model.url}/people/v1"}
    return made


def run(project: CommandLine, variant: str = "command/scripted", limit: float = 60) -> Done:
    return project.sphynx("eval", "--local", "pricing_eval.py", "--variant", variant, limit=limit)


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def trial_of(project: CommandLine) -> TrialRecord:
    (path,) = (project.root / ".sphynx" / "batches").glob("*/trials/*/trial.json")
    return TrialRecord.model_validate_json(path.read_bytes())


def cost(trial: TrialRecord, component: str) -> CostLine:
    return next(line for line in trial.costs if line.component == component)


def test_the_example_passes_and_the_person_has_a_bill_of_their_own(
    project: CommandLine, model: ScriptedModel
) -> None:
    """Asked, told, asked again, approved, pushed: three turns, each side's tokens on its own line."""
    model.script("/people", PERSON, order="arrival")
    done = run(project)
    assert done.code == 0, done.out + done.err
    trial = trial_of(project)
    assert (trial.status, trial.turns, trial.ending) == ("passed", 3, "user-done")
    spent = cost(trial, "user")
    assert (spent.classification, spent.detail["totalTokens"]) == ("estimate", 678)
    assert spent.usd and len(spent.detail["spends"]) == 3
    assert trial.usage and cost(trial, "model").detail["totalTokens"] == trial.usage.total_tokens < 100


def test_an_agent_that_pushes_without_asking_fails(project: CommandLine, model: ScriptedModel) -> None:
    """A yes that comes afterwards does not make up for it; the check's words reach the terminal."""
    model.script("/people", [say("Yes, go ahead."), say("<<DONE>>")], order="arrival")
    hasty = '        subprocess.run(["pricing", "push"], check=True)\n'
    hasty += '        emit("Command", command="pricing push", exitCode=0, output="live")\n'
    asks = '        return "What does Pro cost a month'
    edited(project.root / "pricing_agent/home/agent.py", asks, hasty + asks)
    done = run(project)
    assert done.code == 2
    assert "it pushed before anyone said yes" in done.out
    assert trial_of(project).status == "failed"


def test_a_person_who_never_approves_uses_up_the_turns(project: CommandLine, model: ScriptedModel) -> None:
    """Eight turns unless the case says otherwise; the agent never pushed, so the trial fails."""
    model.script("/people", [say("Go on.")])
    done = run(project)
    assert done.code == 2
    assert "nothing was pushed" in done.out
    trial = trial_of(project)
    assert (trial.status, trial.turns, trial.ending) == ("failed", 8, "max-turns")
    assert len(model.requests("/people")) == 7


def test_a_person_who_stops_answering_voids_the_trial(project: CommandLine, model: ScriptedModel) -> None:
    """It is not the agent's failure: nothing was scored, and the cause says whose it was."""
    model.script("/people", [PERSON[0], fail(401, "incorrect api key")], order="arrival")
    done = run(project)
    assert done.code == 2
    assert "1 trial void, nothing was scored" in done.errors[-1]
    trial = trial_of(project)
    assert (trial.status, trial.cause, trial.stage, trial.turns) == ("void", "person", "person", 2)
    assert KEY not in done.out + done.err + trial.model_dump_json()


def by(model: str, *steps: Step) -> list[Step]:
    """Steps for requests to one model."""
    return [replace(step, when=When(model=model), tokens=Tokens(500, 20)) for step in steps]


@pytest.mark.agents
def test_codex_asks_a_person_played_by_codex(
    project: CommandLine, model: ScriptedModel, agents_root: Path
) -> None:
    """The same example with the real agent on both sides."""
    project_for(project, agents_root, model)
    played = 'user=human(\n                harness="codex",\n                model="gpt-5.4-mini",'
    edited(project.root / "pricing_eval.py", "user=human(", played)
    agent = by("gpt-5.5", say("Shall I push it live?"), use(shell("pricing push")), say("Pro is live."))
    model.script(AGENTS_KEY, [*agent, *by("gpt-5.4-mini", say("Yes, go ahead."), say("<<DONE>>"))])
    done = run(project, "codex/gpt-5.5", limit=300)
    assert done.code == 0, done.out + done.err
    trial = trial_of(project)
    assert (trial.status, trial.turns) == ("passed", 2)
    assert cost(trial, "user").detail["totalTokens"] == 2 * 520
