"""The command harness against real processes in a real sandbox."""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sphynx.contracts import HarnessSetup, Sandbox, SandboxSpec, TurnResult
from sphynx.errors import StageError
from sphynx.guest import recorder
from sphynx.harnesses.command import CommandHarness
from sphynx.journal.events import Command, Event, Finished, Message, Started
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Sandbox]:
    backend = LocalBackend(LocalRoot(tmp_path / "local"), env={"PATH": os.environ["PATH"]})
    sandbox = await backend.open(SandboxSpec(trial_id="t-1/x y"))
    yield sandbox
    await sandbox.close()
    await backend.aclose()


async def run(
    box: Sandbox,
    script: str,
    *,
    prompt: str = "do it",
    session_id: str | None = None,
    timeout_ms: int = 20_000,
    **setup: Any,
) -> tuple[TurnResult, list[Event]]:
    harness = CommandHarness()
    given = {"system_prompt": None, "env": {}, **setup}
    await harness.prepare(
        box, HarnessSetup(model="acme/m-1", run=textwrap.dedent(script), timeout_ms=timeout_ms, **given)
    )
    events: list[Event] = []
    result = await harness.turn(box, prompt, session_id=session_id, timeout_ms=timeout_ms, emit=events.append)
    return result, events


def said(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Message)]


ECHO = """say() { printf '{"_tag":"Message","role":"assistant","text":"%s"}\\n' "$1"; }\n"""


async def test_the_process_gets_the_documented_environment(box: Sandbox) -> None:
    script = (
        ECHO
        + """
        say "$SPHYNX_PROMPT"; say "$SPHYNX_MODEL"; say "$SPHYNX_HOME"; say "$SPHYNX_WORKSPACE"; say "$PWD"
        say "$HOME"; say "$EXTRA"; say "${SPHYNX_SYSTEM_PROMPT_FILE-unset} ${SPHYNX_SESSION_ID-unset}"
        say "$(cat)"; say "$SPHYNX_TRACE_LOG"; say "$BASH_ENV"
    """
    )
    _, events = await run(box, script, env={"EXTRA": "from the profile"})
    assert said(events) == [
        "do it", "acme/m-1", box.home, box.workspace, box.workspace, box.home, "from the profile",
        "unset unset", "", f"{box.home}/.sphynx/trace-{box.id}.ndjson", f"{box.home}/.sphynx/trace.sh",
    ]  # fmt: skip


async def test_the_system_prompt_is_a_file(box: Sandbox) -> None:
    _, events = await run(box, ECHO + 'say "$(cat "$SPHYNX_SYSTEM_PROMPT_FILE")"', system_prompt="Be terse")
    assert said(events) == ["Be terse"]


async def test_a_later_turn_gets_the_session_id(box: Sandbox) -> None:
    result, events = await run(
        box, ECHO + """echo '{"_tag":"Started","sessionId":"s-9","model":"m"}'; say "$SPHYNX_SESSION_ID" """,
        session_id="s-8",
    )  # fmt: skip
    assert result.session_id == "s-9"
    assert said(events) == ["s-8"]
    assert isinstance(events[0], Started)


async def test_a_machine_may_share_one_recorder(box: Sandbox, tmp_path: Path) -> None:
    shared = tmp_path / "shared.sh"
    shared.write_text(recorder.SCRIPT)
    _, events = await run(box, "ls", recorder=str(shared))
    assert [event.command for event in events if isinstance(event, Command)] == ["ls"]
    assert not (Path(box.home) / ".sphynx" / "trace.sh").exists()


async def test_shell_commands_are_recorded_after_the_end_unless_printed(box: Sandbox) -> None:
    script = """
        echo '{"_tag":"Command","command":"ls -l","exitCode":0,"output":"seen"}'
        ls -l >/dev/null
        bash -c 'true one'
    """
    _, events = await run(box, script)
    finished = next(place for place, event in enumerate(events) if isinstance(event, Finished))
    later = [event.command for event in events[finished + 1 :] if isinstance(event, Command)]
    assert "true one" in later and "ls -l > /dev/null" in later
    assert all(event.exit_code is None for event in events[finished + 1 :] if isinstance(event, Command))


async def test_a_zsh_is_recorded_as_a_bash_is_and_reads_its_own_files(box: Sandbox) -> None:
    """Login shells too; startup files of the home are read and their lines are no commands of the agent."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    for name in (".zshenv", ".zprofile", ".zlogin"):
        await box.write(f"{box.home}/{name}", f"READ+={name}\n".encode())
    script = """
        zsh -c 'echo "plain $READ" >> out'
        zsh -lc 'echo "login $READ" >> out; zsh -c "echo nested >> out"'
    """
    _, events = await run(box, script)
    found = [event.command for event in events if isinstance(event, Command)]
    assert [command for command in found if command.startswith("echo")] == [
        'echo "plain $READ" >> out', 'echo "login $READ" >> out', "echo nested >> out",
    ]  # fmt: skip
    assert not [command for command in found if "READ+=" in command or "[[" in command]
    said = (await box.read(f"{box.workspace}/out")).decode()
    assert said == "plain .zshenv\nlogin .zshenv.zprofile.zlogin\nnested\n"
    _, events = await run(box, "zsh -c 'echo other'", env={"ZDOTDIR": "/nowhere"})
    assert "echo other" not in [event.command for event in events if isinstance(event, Command)]


async def test_an_exit_code_is_recorded_and_explained_but_fails_nothing(box: Sandbox) -> None:
    result, events = await run(box, "nosuchprogram; exit 7")
    assert (result.status, result.exit_code) == ("finished", 7)
    assert Finished in map(type, events) and "exit 7" in [e.reason for e in events if isinstance(e, Finished)]
    assert result.note.startswith("the agent exited with status 7: ") and "nosuchprogram" in result.note


async def test_misspelled_event_lines_are_ignored_with_one_note(box: Sandbox) -> None:
    script = """
        for n in 1 2 3; do echo '{"_tag":"Mesage","role":"assistant","text":"hi"}'; done
        exit 7
    """
    result, events = await run(box, script)
    assert said(events) == []
    assert result.note == (
        "the agent exited with status 7; "
        "3 event lines were ignored: first 'Mesage' is no event, did you mean 'Message'?"
    )


async def test_parked_is_scored_and_failed_is_not(box: Sandbox) -> None:
    result, _ = await run(box, """echo '{"_tag":"Finished","reason":"parked: waiting"}'; exit 3""")
    assert result.status == "finished"
    result, _ = await run(box, """echo '{"_tag":"Finished","reason":"failed:  no key "}'""")
    assert (result.status, result.reason) == ("failed", "The agent failed: no key")


async def test_past_its_limit_it_is_stopped_with_what_it_said(box: Sandbox) -> None:
    begun = time.monotonic()
    result, events = await run(box, ECHO + "say early; sleep 30", timeout_ms=1000)
    assert result.status == "timed_out"
    assert time.monotonic() - begun < 10
    assert said(events) == ["early"]


async def test_a_daemon_that_holds_stdout_does_not_hold_the_turn(box: Sandbox) -> None:
    begun = time.monotonic()
    result, _ = await run(box, "setsid sleep 60 & exit 0")
    assert result.status == "finished"
    assert time.monotonic() - begun < 10


async def test_bytes_that_are_not_text_are_survived(box: Sandbox) -> None:
    script = (
        ECHO
        + r"""
        printf '\000\377\376 noise\n{"_tag":"Message"'; sleep 0.1; printf ',"role":"assistant"'
        printf ',"text":"caf\303\251'
        printf '\377"}\n{"_tag":"Message","role":"assistant","text":"last"}'
    """
    )
    _, events = await run(box, script)
    assert said(events) == ["caf\u00e9\ufffd", "last"]


@pytest.mark.parametrize("prompt", ["nul \0 inside", "x" * 140_000])
async def test_a_prompt_no_process_can_be_given_is_a_setup_failure(box: Sandbox, prompt: str) -> None:
    with pytest.raises(StageError) as caught:
        await run(box, "true", prompt=prompt)
    assert caught.value.cause == "setup"


async def test_a_prompt_of_the_documented_size_arrives_whole(box: Sandbox) -> None:
    _, events = await run(box, ECHO + 'say "${#SPHYNX_PROMPT}"', prompt="x" * 100_000)
    assert said(events) == ["100000"]


async def test_the_trace_is_cleared_between_turns(box: Sandbox) -> None:
    harness = CommandHarness()
    setup = HarnessSetup(model="m", system_prompt=None, run="true $SPHYNX_PROMPT", env={}, timeout_ms=9000)
    await harness.prepare(box, setup)
    for prompt in ("one", "two"):
        events: list[Event] = []
        await harness.turn(box, prompt, session_id=None, timeout_ms=9000, emit=events.append)
        assert sum(isinstance(event, Command) for event in events) == 1
