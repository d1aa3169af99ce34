"""Conversations with a fixed script."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project
from sphynx.engine import read_batch, read_events

pytestmark = pytest.mark.anyio

AGENT = """
    echo "$SPHYNX_PROMPT (${SPHYNX_SESSION_ID-none})" >> said.txt
    echo '{"_tag":"Started","sessionId":"s-1","model":"m"}'
    echo "{\\"_tag\\":\\"Message\\",\\"role\\":\\"assistant\\",\\"text\\":\\"reply to $SPHYNX_PROMPT\\"}"
    echo '{"_tag":"Command","command":"ls","exitCode":0,"output":""}'
    echo '{"_tag":"Usage","inputTokens":10,"outputTokens":1}'
"""
SUITE = """
    async def look(ctx):
        turns = await ctx.turns()
        print([(t["index"], t["userText"], t["agentText"], t["commandCount"]) for t in turns])
        print(await ctx.transcript())
        print(await ctx.read_text("said.txt"))
        return True
    demo = suite(id="demo", prompt="open", variants=[AGENT], cases=[
        case(id="one", user=script(["yes", "good"]), validate=look, %s),
    ])
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def _printed(trial) -> str:
    return "".join(log["value"]["text"] for log in trial.validations[0]["logs"])


async def test_each_reply_continues_the_session_and_the_script_ends_it(project: Project) -> None:
    project.agent(AGENT)
    project.suite(SUITE % "")
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.turns, trial.session_id) == ("passed", 3, "s-1")
    assert trial.usage and trial.usage.total_tokens == 33
    printed = _printed(trial)
    assert "[(0, 'open', 'reply to open'" in printed and "(2, 'good', 'reply to good'" in printed
    assert "reply to open\n\nreply to yes\n\nreply to good" in printed
    assert "open (none)\nyes (s-1)\ngood (s-1)" in printed
    events = read_events(read_batch(result.folder).trials[0].folder)
    said = [event.text for event in events if type(event).__name__ == "Message" and event.role == "user"]
    assert said == ["open", "yes", "good"]


async def test_max_turns_counts_the_opening(project: Project) -> None:
    project.agent(AGENT)
    project.suite(SUITE % "max_turns=2")
    assert (await project.trial()).turns == 2


async def test_without_a_session_the_conversation_is_one_turn_and_still_scored(project: Project) -> None:
    project.agent(AGENT.replace("Started", "Stranger"))
    project.suite(SUITE % "")
    trial = await project.trial()
    assert (trial.status, trial.turns, trial.session_id) == ("passed", 1, None)


async def test_the_limit_covers_all_turns_together(project: Project) -> None:
    project.agent(AGENT + "\nsleep 0.7")
    project.suite(SUITE % "timeout_ms=1000")
    trial = await project.trial()
    assert (trial.status, trial.turns) == ("timed_out", 2)
