"""Installing the real agents, on this machine and inside a sandbox that shares nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from harnesses.agents.real_agents import KEY, WORK, prepared
from sphynx.errors import StageError
from sphynx.journal.events import Command, Event
from sphynx.testing.scripted_model import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.agents]


async def test_the_same_recipe_installs_inside_a_sandbox(root: Path, model: ScriptedModel) -> None:
    model.script(KEY, WORK)
    events: list[Event] = []
    shown: list[str] = []
    async with prepared("pi", root, model, hide_installs=True, show=shown.append) as (harness, box):
        assert harness.program.startswith(box.home)
        result = await harness.turn(box, "Work", session_id=None, timeout_ms=60_000, emit=events.append)
    assert (result.status, result.reason) == ("finished", "")
    assert [event.exit_code for event in events if isinstance(event, Command)] == [3, 0]
    assert shown == ["installing pi@1.6.0\n"]


@pytest.mark.parametrize("remote", [True, False])
async def test_a_version_that_does_not_exist_is_told_in_npms_words(
    remote: bool, root: Path, model: ScriptedModel
) -> None:
    with pytest.raises(StageError) as caught:
        async with prepared("pi", root, model, hide_installs=remote, version="0.0.0-none"):
            raise AssertionError("it was installed")
    assert caught.value.message.startswith("pi@0.0.0-none could not be installed: npm error")
    assert (caught.value.stage, caught.value.cause) == ("harness", "harness")
