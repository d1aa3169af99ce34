"""How commands end: by themselves, at a time limit, when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import time

from sphynx.contracts import Sandbox
from sphynx.sandboxes.conformance.checks import check, sh


@check
async def success_is_zero(box: Sandbox) -> None:
    """A command that succeeds has exit code 0 and did not time out."""
    done = await box.exec(["true"])
    assert (done.exit_code, done.timed_out) == (0, False)


@check
async def exit_codes_arrive(box: Sandbox) -> None:
    """Every exit code from 0 to 255 arrives as it is."""
    for code in (1, 2, 3, 42, 126, 127, 128, 255):
        assert (await sh(box, f"exit {code}")).exit_code == code


@check
async def signals_are_128_and_number(box: Sandbox) -> None:
    """A command ended by signal n has exit code 128 + n."""
    assert (await sh(box, "kill -TERM $$")).exit_code == 143
    assert (await sh(box, "kill -KILL $$")).exit_code == 137


@check
async def unknown_command_is_127(box: Sandbox) -> None:
    """A command that is not there ends with 127 and says so on stderr."""
    done = await box.exec(["surely-no-such-command"])
    assert done.exit_code == 127
    assert b"surely-no-such-command" in done.stderr


@check
async def not_executable_is_126(box: Sandbox) -> None:
    """A file that cannot be run ends with 126 and says so on stderr."""
    await box.write("plain.txt", b"no program", mode=0o644)
    done = await box.exec(["./plain.txt"])
    assert done.exit_code == 126
    assert b"plain.txt" in done.stderr


@check
async def duration_is_measured(box: Sandbox) -> None:
    """``duration_ms`` is how long the command ran."""
    done = await sh(box, "sleep 0.3")
    assert 250 <= done.duration_ms < 10_000


@check
async def arguments_are_not_a_shell_line(box: Sandbox) -> None:
    """Arguments arrive one by one as they are: blanks, quotes, stars, newlines, nothing is expanded."""
    arguments = ["a b", "$HOME", "*", "'\"`", "", "two\nlines", "ünïcödé"]
    done = await box.exec(["printf", "%s|", *arguments])
    assert done.stdout.decode() == "|".join(arguments) + "|"


@check
async def long_arguments(box: Sandbox) -> None:
    """An argument of 100,000 characters arrives whole."""
    done = await box.exec(["printf", "%s", "x" * 100_000])
    assert done.stdout == b"x" * 100_000


@check
async def stdin_is_empty(box: Sandbox) -> None:
    """Standard input is at its end at once: a command that reads it does not wait."""
    done = await box.exec(["cat"], timeout_ms=10_000)
    assert (done.exit_code, done.stdout) == (0, b"")


@check
async def time_limit_kills(box: Sandbox) -> None:
    """A command past its time limit is killed: exit code 137, ``timed_out``, soon after the limit."""
    began = time.monotonic()
    done = await box.exec(["sleep", "60"], timeout_ms=300)
    assert (done.exit_code, done.timed_out) == (137, True)
    assert 0.25 < time.monotonic() - began < 15


@check
async def time_limit_keeps_output(box: Sandbox) -> None:
    """What a killed command wrote before is kept."""
    done = await sh(box, "echo before; echo trouble >&2; sleep 60", timeout_ms=700)
    assert (done.stdout, done.stderr, done.timed_out) == (b"before\n", b"trouble\n", True)


@check
async def time_limit_kills_descendants(box: Sandbox) -> None:
    """Children and grandchildren that hold the pipes die with the command, and do not delay its end."""
    began = time.monotonic()
    line = "(bash -c 'trap \"\" TERM INT HUP; while :; do date +%s%N > beat; sleep 0.05; done' & wait) & wait"
    done = await sh(box, line, timeout_ms=1_500)
    assert done.timed_out
    assert time.monotonic() - began < 15
    last = await box.read("beat")
    await asyncio.sleep(0.4)
    assert await box.read("beat") == last


@check
async def time_limit_in_time_is_none(box: Sandbox) -> None:
    """A command that ends before its limit is not touched, whatever it left behind."""
    done = await sh(box, "echo fine", timeout_ms=60_000)
    assert (done.exit_code, done.timed_out, done.stdout) == (0, False, b"fine\n")


@check
async def cancelling_kills(box: Sandbox) -> None:
    """Cancelling the task that awaits a command kills the command."""
    line = "while :; do date +%s%N > beat; sleep 0.05; done"
    task = asyncio.create_task(sh(box, line))
    await asyncio.sleep(0.6)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await asyncio.sleep(0.3)
    last = await box.read("beat")
    await asyncio.sleep(0.4)
    assert await box.read("beat") == last


@check
async def daemon_does_not_delay(box: Sandbox) -> None:
    """A command is over when its process is, though a daemon it left holds its standard output."""
    began = time.monotonic()
    done = await sh(box, "sleep 20 & echo started")
    assert done.stdout == b"started\n"
    assert time.monotonic() - began < 8


@check
async def background_lives_until_close(box: Sandbox) -> None:
    """What a command left running is still there for the next command."""
    await sh(box, "(while :; do date +%s%N > beat; sleep 0.05; done) >/dev/null 2>&1 &")
    await asyncio.sleep(0.4)
    first = await box.read("beat")
    await asyncio.sleep(0.4)
    assert await box.read("beat") != first
