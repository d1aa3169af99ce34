"""The child that runs one function of a warm bundle: forked from a supervisor, it never returns to it."""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def run(
    run_guest: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], int],
    request: dict[str, Any],
    env: dict[str, str],
    workspace: str,
    output: int,
    frames: int,
) -> int:
    """Put on the trial's surroundings, run the function, and give its exit code."""
    from sphynx.guest.protocol import sender

    os.setsid()
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.chdir(workspace)
    os.environ.clear()
    os.environ.update(env)
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].__dict__["tempdir"] = None
    gc.enable()
    try:
        return run_guest(request, sender(frames))
    finally:
        flush()


def flush() -> None:
    """What was printed must not be lost with ``os._exit``."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
