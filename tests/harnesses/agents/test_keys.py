"""Where an agent's key is while it runs, and where it never is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eval_project import Project
from harnesses.agents.real_agents import AGENTS, KEY, variants
from sphynx.testing.scripted_model import ScriptedModel, say, shell, use

pytestmark = [pytest.mark.anyio, pytest.mark.agents]


@contextmanager
def watched_arguments() -> Iterator[list[str]]:
    """Command lines of any process of this machine that hold the key, looked at all the while."""
    found: list[str] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.005):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = file.read_bytes()
                except OSError:
                    continue
                if KEY.encode() in line:
                    found.append(line.decode(errors="replace"))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("agent", AGENTS)
async def test_no_key_in_arguments_in_the_agents_commands_or_in_anything_stored(
    agent: str, project: Project, model: ScriptedModel
) -> None:
    model.script(KEY, [use(shell("env; sleep 0.2")), say("done")])
    project.suite(
        """
        keys = suite(id="keys", prompt="x", cases=[case(id="one", validate=command("true"))], VARIANTS)
    """.replace("VARIANTS", variants(agent))
    )
    with watched_arguments() as found:
        result = await project.run()
    assert [trial.status for trial in result.trials] == ["passed"]
    assert found == []
    told = "\n".join(turn.text for seen in model.requests(KEY) for turn in seen.turns if turn.role == "tool")
    assert "PATH=" in told
    assert KEY not in told, "what the command saw of its environment"
    for file in (project.root / ".sphynx").rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file
