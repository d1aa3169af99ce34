"""Codex, Claude Code, Gemini CLI, Qwen Code, OpenCode and Pi, the real programs, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eval_project import Project
from harnesses.agents.real_agents import AGENTS, KEY, WORK, prepared, variants
from sphynx.engine import BatchResult, read_batch, read_events
from sphynx.journal.events import Command, Event, FileChange, Message, ToolCall
from sphynx.schema.records import TrialRecord
from sphynx.testing.scripted_model import ScriptedModel, call, fail, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]


def journals(result: BatchResult) -> dict[str, list[list[Event]]]:
    """The stored events of every trial, by harness."""
    found: dict[str, list[list[Event]]] = {agent: [] for agent in AGENTS}
    for trial in read_batch(result.folder).trials:
        found[trial.record.harness].append(list(read_events(trial.folder)))
    return found


def by_agent(result: BatchResult) -> dict[str, TrialRecord]:
    return {trial.harness: trial for trial in result.trials}


async def test_all_six_do_the_same_work_and_leave_the_same_journal(
    project: Project, model: ScriptedModel
) -> None:
    """Two trials each: same commands and exit codes, same files, same meaning of tokens."""
    model.script(KEY, WORK)
    project.suite(f"""
        async def did_it(ctx):
            made, shell = await ctx.read_text("made.txt"), await ctx.read_text("shell.txt")
            return (made, shell, await ctx.answer()) == ("one\\nthree\\n", "shell\\n", "All done.")
        six = suite(id="six", prompt="Do the work", trials=2, cases=[case(id="work", validate=[did_it])],
                    {variants()})
    """)
    result = await project.run()
    assert {(trial.harness, trial.status, trial.reason) for trial in result.trials} == {
        (agent, "passed", None) for agent in AGENTS
    }
    assert {tuple(trial.files_changed) for trial in result.trials} == {("made.txt", "shell.txt")}
    for trial in result.trials:
        assert trial.usage is not None, trial.harness
        usage = trial.usage
        assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (3000, 2000, 250)
        assert usage.total_tokens == 5250
        assert trial.harness_version[0].isdigit()
        assert trial.session_id
    for agent, trials in journals(result).items():
        assert len(trials) == 2
        for events in trials:
            assert [shape for shape in map(told, events) if shape] == EXPECTED, agent


EXPECTED: list[Any] = [
    ("user", "Do the work"),
    ("assistant", "I will run it."),
    ("echo bad; exit 3", 3, "bad"),
    ("made.txt",),
    ("made.txt",),
    ("echo shell > shell.txt", 0, ""),
    ("assistant", "All done."),
    ("shell.txt",),
]


def told(event: Event) -> Any:
    """What an event says, without times; reads are left out, since Codex reads with its shell."""
    if isinstance(event, Command):
        reading = event.command.startswith("cat ")
        return None if reading else (event.command, event.exit_code, event.output.strip())
    if isinstance(event, FileChange):
        return event.paths
    return (event.role, event.text) if isinstance(event, Message) else None


async def test_a_person_answers_and_the_session_goes_on(project: Project, model: ScriptedModel) -> None:
    """The second request carries the first turn, and each turn's tokens are its own."""
    model.script(KEY, [say("Which colour?"), say("Blue it is.")])
    project.suite(f"""
        async def heard(ctx): return await ctx.answer() == "Blue it is." and len(await ctx.turns()) == 2
        talk = suite(id="talk", prompt="Paint it", {variants()},
                     cases=[case(id="one", user=script(["Blue, please"]), validate=heard)])
    """)
    result = await project.run()
    assert {(trial.harness, trial.status, trial.reason) for trial in result.trials} == {
        (agent, "passed", None) for agent in AGENTS
    }
    for agent, trial in by_agent(result).items():
        assert trial.turns == 2
        assert trial.usage is not None
        assert (trial.usage.input_tokens, trial.usage.output_tokens) == (200, 40), agent
    asked = model.requests(KEY)
    assert len(asked) == 2 * len(AGENTS)
    second = [seen for seen in asked if "Blue, please" in seen.text("user")]
    assert len(second) == len(AGENTS)
    for seen in second:
        assert "Paint it" in seen.text("user") and "Which colour?" in seen.text("model")


async def test_the_profiles_system_prompt_reaches_every_agent(project: Project, model: ScriptedModel) -> None:
    model.script(KEY, [say("ok")])
    profile = project.root / "terse"
    profile.mkdir()
    (profile / "profile.json").write_text(
        '{"systemPrompt": "ANSWER LIKE A PIRATE", "env": {"SHIP": "sloop"}}'
    )
    project.suite(f"""
        talk = suite(id="talk", prompt="Hello", cases=[case(id="one", validate=command("true"))],
                     {variants(profile={"name": "terse", "dir": "./terse"})})
    """)
    result = await project.run()
    assert {trial.status for trial in result.trials} == {"passed"}
    told = {seen.headers["user-agent"]: "ANSWER LIKE A PIRATE" in seen.text() for seen in model.requests(KEY)}
    assert len(model.requests(KEY)) == len(AGENTS)
    assert all(told.values()), told
    assert {tuple(trial.files_changed) for trial in result.trials} == {()}, "no prompt file in the workspace"


@pytest.mark.parametrize("agent", AGENTS)
async def test_a_prompt_of_any_length_arrives_whole(agent: str, root: Path, model: ScriptedModel) -> None:
    """Longer than any system takes as an argument."""
    model.script(KEY, [say("ok")])
    prompt = "START " + "lorem ipsum " * 10_000 + "END"
    async with prepared(agent, root, model) as (harness, box):
        result = await harness.turn(box, prompt, session_id=None, timeout_ms=60_000, emit=lambda event: None)
    assert (result.status, result.reason) == ("finished", "")
    (seen,) = model.requests(KEY)
    text = seen.text("user")
    assert "START lorem" in text and "ipsum END" in text and text.count("lorem ipsum") >= 10_000


async def test_a_refused_key_voids_the_trial_within_seconds_in_the_models_own_words(
    project: Project, model: ScriptedModel
) -> None:
    project.suite(
        """
        one = suite(id="one", prompt="x", cases=[case(id="one", validate=command("true"))], VARIANTS)
    """.replace("VARIANTS", variants())
    )
    result = await project.run()
    for agent, trial in by_agent(result).items():
        assert (trial.status, trial.cause, trial.stage) == ("void", "model", "agent"), agent
        assert "no script for this key" in (trial.reason or ""), agent
        assert trial.duration_ms < 60_000, agent
        assert trial.usage is None, agent


async def test_a_model_that_stays_busy_ends_every_trial_within_seconds(
    project: Project, model: ScriptedModel
) -> None:
    """No agent asks for minutes; two of them, which have no setting for it, are stopped by us."""
    model.script(KEY, [fail(429, "slow down")])
    project.suite(
        """
        one = suite(id="one", prompt="x", cases=[case(id="one", validate=command("true"))], VARIANTS)
    """.replace("VARIANTS", variants())
    )
    result = await project.run()
    for agent, trial in by_agent(result).items():
        assert (trial.status, trial.cause, trial.stage) == ("void", "model", "agent"), agent
        # Codex has words of its own for this.
        words = "last status: 429 Too Many Requests" if agent == "codex" else "slow down"
        assert words in (trial.reason or ""), agent
        assert trial.duration_ms < 60_000, agent
    assert len(model.requests(KEY)) <= 3 * len(AGENTS)


@pytest.mark.parametrize("agent", AGENTS)
async def test_an_agent_that_runs_past_its_limit_is_stopped_with_its_command(
    agent: str, project: Project, model: ScriptedModel
) -> None:
    model.script(KEY, [use(shell("echo started > begun.txt; sleep 300")), say("never")])
    # Codex stops waiting for a command after 10 seconds; the others need a while to start.
    limit = {"codex": 7_000, "opencode": 40_000, "qwen": 25_000}.get(agent, 15_000)
    project.suite(f"""
        slow = suite(id="slow", prompt="x", {variants(agent)},
                     cases=[case(id="one", timeout_ms={limit}, validate=command("true"))])
    """)
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.cause, trial.commands) == ("timed_out", "limit", 1)
    assert limit <= trial.model_ms < limit + 35_000
    (events,) = journals(result)[agent]
    (command,) = [event for event in events if isinstance(event, Command)]
    assert (command.command, command.exit_code) == ("echo started > begun.txt; sleep 300", None)


async def test_what_is_no_command_and_no_file_is_a_tool_call_with_its_kind(
    project: Project, model: ScriptedModel
) -> None:
    model.script(KEY, [use(call("no_such_tool", x=1)), say("hm")])
    others = [agent for agent in AGENTS if agent != "codex"]  # which prints nothing for such a call
    project.suite(
        """
        odd = suite(id="odd", prompt="x", cases=[case(id="one", validate=command("true"))], VARIANTS)
    """.replace("VARIANTS", variants(*others))
    )
    result = await project.run()
    for agent in others:
        (events,) = journals(result)[agent]
        (tool,) = [event for event in events if isinstance(event, ToolCall)]
        assert (tool.name, tool.status, tool.kind) == ("no_such_tool", "error", "unknown"), agent
