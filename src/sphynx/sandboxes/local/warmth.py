"""Importing a bundle once for many trials, and when that is not allowed. Standard library only.

A process that has more than one thread, a running loop or a child of its own must not be forked: a lock held
by a thread that does not exist in the child never opens again. Such an eval file gets a fresh interpreter
per trial instead.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def warm_up(folder: str, fresh: str) -> tuple[Callable[..., int] | None, dict[str, Any]]:
    """Import the bundle at ``folder``; ``fresh`` says why no child may be forked in any case.

    Gives a function that runs one request (``None`` when not warm), and the answer for the host:
    ``{"ready", "warm", "why"}``, ``ready`` only when this process may serve, or ``{"failed": {...}}``.
    """
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        del os.environ[name]
    from sphynx.errors import CompileError
    from sphynx.guest import bundle, program

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
