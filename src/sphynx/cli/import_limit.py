"""``--timeout`` while eval files are imported: the engine's own limit begins only when a run does."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from sphynx.compiler.exiting import OutOfTime
from sphynx.compiler.load import imported_now, shown_path
from sphynx.errors import ExitCode, UsageError

_PATIENCE_S = 2.0
"""Past the limit: how long code that listens to no signal may go on."""


@contextlib.contextmanager
def import_limit(seconds: float | None, cwd: Path) -> Iterator[None]:
    """End what runs in the block after ``seconds``; ``UsageError`` names the file that was imported then."""
    if seconds is None:
        yield
        return
    leave = os._exit

    def told() -> str:
        file = imported_now()
        what = "planning the run" if file is None else f"importing {shown_path(file, cwd)}"
        return f"{what} took longer than --timeout {seconds:g} s, nothing was started"

    def end(number: int, frame: FrameType | None) -> None:
        raise OutOfTime(told())

    def leave_at_once() -> None:
        sys.stderr.write(f"error: {told()}\n")
        sys.stderr.flush()
        leave(ExitCode.ERROR)

    watchdog = threading.Timer(seconds + _PATIENCE_S, leave_at_once)
    watchdog.daemon = True
    before = signal.signal(signal.SIGALRM, end)
    watchdog.start()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except OutOfTime as error:
        raise UsageError(str(error), hint="what takes long belongs in prepare or in a check") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        watchdog.cancel()
