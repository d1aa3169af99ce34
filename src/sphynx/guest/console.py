"""What a check prints, tied to the check that printed it, even when several tasks and threads run.

``print``, ``sys.stdout.write`` and ``sys.stderr.write`` are caught. Bytes written to descriptors 1 and 2, by
the check or a program it starts, are not: they go wherever those descriptors point.
"""

from __future__ import annotations

import os
import sys
import threading
from contextvars import ContextVar
from typing import Any, TextIO

from sphynx.guest import limits
from sphynx.guest.calling import Caller
from sphynx.guest.record import Record


class Running(Caller):
    """A check that is running: where its calls and prints are noted, and how its context answers it."""

    def __init__(self, record: Record, fn: Any) -> None:
        super().__init__(fn)
        self.record = record
        self.pending = {"stdout": "", "stderr": ""}
        self.lock = threading.RLock()
        self.threads_before = {thread.ident for thread in threading.enumerate()}

    def write(self, level: str, text: str) -> None:
        """Collect text. What ends a line, as one ``print`` does, is a log entry unless it is blank.

        A line that does not end is kept up to twice what an entry may hold, so it stays one entry: a secret
        that was split over two would not be recognised.
        """
        with self.lock:
            whole = (self.pending[level] + text)[: 2 * limits.VALUE]
            self.pending[level] = "" if text.endswith("\n") else whole
        if text.endswith("\n"):
            self._log(level, whole)

    def flush(self) -> None:
        """Log what was printed without a line end."""
        for level, text in self.pending.items():
            if text:
                self.pending[level] = ""
                self._log(level, text)

    def _log(self, level: str, text: str) -> None:
        if text.strip("\n"):
            self.record.log(level, text.removesuffix("\n"))


_current: ContextVar[Running | None] = ContextVar("sphynx_check", default=None)
_foreground: list[Running] = []


def current() -> Running | None:
    """The check this code belongs to.

    Tasks, and threads started through asyncio, inherit it. A plain thread does not, so one that was
    started since the running check began counts as that check's.
    """
    found = _current.get()
    if found is None and _foreground and threading.get_ident() not in _foreground[-1].threads_before:
        return _foreground[-1]
    return found


class belongs_to:
    """Context manager: what runs inside it, and what that starts, belongs to the check ``running``."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def __enter__(self) -> None:
        self._token = _current.set(self._running)
        _foreground.append(self._running)

    def __exit__(self, *exc: object) -> None:
        _foreground.remove(self._running)
        _current.reset(self._token)


class Console:
    """Stands in for ``sys.stdout`` or ``sys.stderr``; everything but ``write`` is the real stream's."""

    def __init__(self, real: TextIO, level: str) -> None:
        self._real = real
        self._level = level
        self._owner = os.getpid()

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() takes text, not {type(text).__name__}")
        running = current() if os.getpid() == self._owner else None
        if running is None:
            return self._real.write(text)
        running.write(self._level, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class captured:
    """Context manager: ``sys.stdout`` and ``sys.stderr`` are consoles inside it."""

    def __enter__(self) -> None:
        self._before = sys.stdout, sys.stderr
        sys.stdout = Console(sys.stdout, "stdout")
        sys.stderr = Console(sys.stderr, "stderr")

    def __exit__(self, *exc: object) -> None:
        sys.stdout, sys.stderr = self._before
