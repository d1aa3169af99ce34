"""Importing a bundle once for many trials, and when that is not allowed. Standard library only.

A process that has more than one thread, a running loop or a child of its own must not be forked: a lock held
by a thread that does not exist in the child never opens again. Such an eval file gets a fresh interpreter
per trial instead.
"""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def main(channel: int) -> None:
    """Try whether the bundle named in the first message can be imported; the answer is one line of JSON."""
    import json

    with open(channel, "r+b", buffering=0) as host:
        folder = host.readline().decode().rstrip("\n")
        host.write(json.dumps(warm_up(folder, "not here")[1]).encode() + b"\n")


def warm_up(folder: str, fresh: str) -> tuple[Callable[..., int] | None, dict[str, Any]]:
    """Import the bundle at ``folder``; ``fresh`` says why no child may be forked in any case.

    Gives a function that runs one request (``None`` when not warm), and the answer for the host:
    ``{"ready", "warm", "why"}``, ``ready`` only when this process may serve, or ``{"failed": {...}}``.
    """
    sys.stdout = sys.__stdout__ = _stream(1)
    sys.stderr = sys.__stderr__ = _stream(2)
    from sphynx.errors import CompileError
    from sphynx.guest import bundle, program
    from sphynx.sandboxes.local import guest_child  # noqa: F401 - so that no child has to import it

    try:
        loaded = bundle.load(folder)
    except CompileError as problem:
        return None, {"ready": False, "failed": {"message": problem.message, "hint": problem.hint}}
    except BaseException as problem:
        text = str(problem).strip() or type(problem).__name__
        return None, {
            "ready": False,
            "failed": {"message": f"the bundle cannot be imported: {text}", "hint": None},
        }
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    why = fresh or why_not_warm()
    if why:
        return None, {"ready": False, "warm": False, "why": why}

    def run_guest(request: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> int:
        return program.run_op(loaded, request, emit)

    return run_guest, {"ready": True, "warm": True, "why": ""}


class _Pipe(io.FileIO):
    """A descriptor that will become a pipe: an object that thinks it may seek would fail there."""

    def seekable(self) -> bool:
        return False


def _stream(fd: int) -> io.TextIOWrapper:
    """A text stream that modules may keep from their import: children put another file behind ``fd``."""
    raw = io.BufferedWriter(_Pipe(fd, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def why_not_warm() -> str:
    """What in this process forbids forking it; empty when nothing does."""
    if len(os.listdir("/proc/self/task")) > 1:
        return "its import starts a thread"
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return "its import leaves an event loop running"
    from sphynx.sandboxes.local import killing

    if killing.children(os.getpid()):
        return "its import starts a process"
    return ""


def tracing() -> str:
    """Why functions of an eval file cannot be forked while this process is being watched; empty when not."""
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return "a debugger or a coverage tool is active"
    if "COVERAGE_PROCESS_START" in os.environ or "COVERAGE_PROCESS_CONFIG" in os.environ:
        return "coverage of child processes is on"
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None and any(monitoring.get_tool(number) for number in range(6)):
        return "a debugger or a coverage tool is active"
    return ""
