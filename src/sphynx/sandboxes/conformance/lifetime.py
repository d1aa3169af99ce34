"""Several commands at once, and the sandbox's own beginning and end."""

from __future__ import annotations

import asyncio
import time

from sphynx.contracts import Sandbox
from sphynx.sandboxes.conformance.checks import check, sh


@check
async def commands_at_the_same_time(box: Sandbox) -> None:
    """Commands of one sandbox run side by side, each with its own output and exit code."""
    began = time.monotonic()
    done = await asyncio.gather(*(sh(box, f"sleep 0.5; echo {n}; exit {n}") for n in range(8)))
    assert [result.exit_code for result in done] == list(range(8))
    assert [result.stdout for result in done] == [f"{n}\n".encode() for n in range(8)]
    assert time.monotonic() - began < 3.5


@check
async def a_limit_hits_one_command_only(box: Sandbox) -> None:
    """Killing one command leaves those beside it alone."""
    limited, other = await asyncio.gather(
        box.exec(["sleep", "30"], timeout_ms=200), sh(box, "sleep 0.8; echo unharmed")
    )
    assert limited.timed_out
    assert (other.exit_code, other.stdout) == (0, b"unharmed\n")


@check
async def many_commands_in_a_row(box: Sandbox) -> None:
    """A hundred commands one after the other leave nothing behind that stops the next."""
    for number in range(100):
        assert (await box.exec(["printf", str(number)])).stdout == str(number).encode()


@check
async def says_what_it_is(box: Sandbox) -> None:
    """``id``, ``backend`` and ``isolation`` are said, the folders are absolute."""
    assert box.id and box.backend and box.isolation
    assert all(folder.startswith("/") for folder in (box.workspace, box.home, box.tmp))


@check
async def workspace_starts_empty(box: Sandbox) -> None:
    """Workspace and home are empty at first."""
    done = await sh(box, f"ls -A {box.workspace}; ls -A {box.home}")
    assert done.stdout == b""


@check
async def closing_twice(box: Sandbox) -> None:
    """Closing again, also at the same time, does nothing more."""
    await asyncio.gather(box.close(), box.close())
    await box.close()


@check
async def closing_ends_commands(box: Sandbox) -> None:
    """Closing ends commands that are still running, with exit code 137."""
    running = asyncio.create_task(box.exec(["sleep", "60"]))
    await asyncio.sleep(0.3)
    await box.close()
    assert (await asyncio.wait_for(running, 15)).exit_code == 137


@check
async def closed_is_closed(box: Sandbox) -> None:
    """A closed sandbox runs nothing more."""
    await box.close()
    try:
        await box.exec(["true"])
    except Exception:
        return
    raise AssertionError("a closed sandbox ran a command")
