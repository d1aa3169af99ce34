"""A Python function as the agent: real trials, from the eval file to the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project
from sphynx.engine import read_batch, read_events
from sphynx.journal.events import Command, FileChange, Message, Started, ToolCall

pytestmark = pytest.mark.anyio

SUITE = """
    import os, pathlib, time

    {agent}

    def seen(ctx):
        print([(turn.user_text, turn.agent_text) for turn in ctx.turns()])
        return True

    demo = suite(id="demo", prompt="open", variants=[variant(harness=my_agent, model="some-model")],
                 cases=[case(id="one", {case} validate=seen)])
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def write(project: Project, agent: str, case: str = "") -> None:
    lines = agent.strip("\n").replace("\n", "\n    ")
    project.suite(SUITE.format(agent=lines, case=case))


def printed(trial) -> str:
    return "".join(log["value"]["text"] for log in trial.validations[0]["logs"])


async def test_what_the_function_emits_is_the_journal(project: Project) -> None:
    write(
        project,
        """
async def my_agent(turn, emit):
    emit.started(session_id="s-1", model="the-model")
    emit.command(command="ls", exit_code=3, output="no")
    emit.tool_call(name="read_file", input={"path": "a.txt"}, output="text", status="completed")
    pathlib.Path("made.txt").write_text(turn.prompt + " by " + turn.model)
    emit.file_change([os.path.abspath("made.txt")])
    emit.usage(input_tokens=10, output_tokens=2)
    return "done"
""",
    )
    result = await project.run()
    (trial,) = result.trials
    assert (trial.status, trial.reason) == ("passed", None)
    assert (trial.variant, trial.harness) == ("python/my_agent/some-model", "python/my_agent")
    assert (trial.session_id, trial.commands, trial.failed_commands) == ("s-1", 1, 1)
    assert trial.files_changed == ["made.txt"]
    assert "open by some-model" in (trial.diff or "")
    assert trial.usage and trial.usage.total_tokens == 12
    kinds = [type(event) for event in read_events(read_batch(result.folder).trials[0].folder)]
    assert kinds == [Message, Started, Command, ToolCall, FileChange, Message]
    assert "('open', 'done')" in printed(trial)


async def test_a_conversation_goes_on_with_history_and_state(project: Project) -> None:
    """Each turn is a process of its own; what was said and what the agent kept is there again."""
    write(
        project,
        """
def my_agent(turn, emit):
    turn.state["count"] = turn.state.get("count", 0) + 1
    before = [(said["role"], said["text"]) for said in turn.history]
    return f"{turn.index} {turn.state['count']} {len(before)} {turn.session_id is None}"
""",
        'user=script(["again", "and again"]),',
    )
    trial = await project.trial()
    assert (trial.status, trial.turns) == ("passed", 3)
    assert trial.session_id and trial.session_id.startswith("python-")
    text = printed(trial)
    assert "('open', '0 1 0 True')" in text
    assert "('again', '1 2 2 False')" in text
    assert "('and again', '2 3 4 False')" in text


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("def my_agent(turn, emit):\n    raise ValueError('no luck')",
         "The agent my_agent raised ValueError: no luck (demo_eval.py:10)"),
        ("async def my_agent(turn, emit):\n    emit.finished('failed: the model is down')",
         "The agent failed: the model is down"),
        ("def my_agent(turn, emit):\n    return 3",
         "The agent my_agent returned int; an agent returns its answer as text, or nothing"),
        ("def my_agent(turn, emit):\n    turn.state['x'] = object()",
         "The agent my_agent keeps something in turn.state that JSON cannot hold"),
        ("def my_agent(turn, emit):\n    turn.state = [1]",
         "The agent my_agent set turn.state to list; it must stay a dict"),
        ("def my_agent(turn, emit):\n    turn.state['x'] = 'y' * 2_000_000",
         "The agent my_agent keeps more than"),
        ("def my_agent(turn, emit):\n    raise SystemExit(4)", "The agent my_agent exited with status 4"),
        ("def my_agent(turn, emit):\n    os._exit(5)",
         "The agent's process ended with exit code 5 before its turn was over"),
    ],
)  # fmt: skip
async def test_an_agent_that_breaks_makes_the_trial_void(project: Project, agent: str, reason: str) -> None:
    write(project, agent)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.stage) == ("void", "harness", "agent")
    assert trial.reason and trial.reason.startswith(reason)


async def test_the_time_limit_ends_it_with_everything_it_started(project: Project) -> None:
    write(
        project,
        "def my_agent(turn, emit):\n    emit.message(text='hm')\n    time.sleep(60)",
        "timeout_ms=1000,",
    )
    trial = await project.trial()
    assert (trial.status, trial.cause) == ("timed_out", "limit")


async def test_leaving_with_status_0_ends_the_turn(project: Project) -> None:
    write(project, "def my_agent(turn, emit):\n    emit.message(text='bye')\n    raise SystemExit")
    trial = await project.trial()
    assert trial.status == "passed"
    assert "('open', 'bye')" in printed(trial)


async def test_it_sees_model_keys_which_are_stored_nowhere(project: Project) -> None:
    key = "sk-0123456789abcdefghij"
    write(
        project,
        """
def my_agent(turn, emit):
    emit.message(text="my key is " + os.environ["ANTHROPIC_API_KEY"])
    return str(sorted(name for name in os.environ if name in ("E2B_API_KEY", "OTHER_KEY")))
""",
    )
    env = {"ANTHROPIC_API_KEY": key, "E2B_API_KEY": "e2b_key_of_the_user", "OTHER_KEY": "some-other-secret"}
    result = await project.run(env=env)
    assert "('open', '[]')" in printed(result.trials[0])
    for path in result.folder.rglob("*"):
        assert path.is_dir() or key not in path.read_text(), path


async def test_a_forked_child_of_the_agent_cannot_end_the_turn(project: Project) -> None:
    write(
        project,
        """
def my_agent(turn, emit):
    if os.fork() == 0:
        emit.message(text="from the child")
        return "child"
    os.wait()
    return "parent"
""",
    )
    trial = await project.trial()
    assert trial.status == "passed"
    assert "('open', 'parent')" in printed(trial)


async def test_it_runs_on_this_machine_only(project: Project) -> None:
    from sphynx.compiler import compile_eval
    from sphynx.errors import SphynxError

    write(project, "def my_agent(turn, emit):\n    pass")
    with pytest.raises(SphynxError, match="my_agent"):
        compile_eval(project.root / "demo_eval.py")
