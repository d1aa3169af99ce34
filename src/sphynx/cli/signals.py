"""Ctrl-C and SIGTERM while a run goes on: the first asks the run to stop, the second leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from types import TracebackType
from typing import Any

from sphynx.engine import Stop

_HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Owns the signals inside a ``with`` block of a running loop.

    ``on_first(name)`` must print at once; ``on_leave()`` puts the terminal right before the process is gone.
    """

    def __init__(self, stop: Stop, on_first: Callable[[], None], on_leave: Callable[[], None]) -> None:
        self._stop = stop
        self._on_first = on_first
        self._on_leave = on_leave
        self._before: dict[int, Any] = {}
        self.number: int | None = None
        """The signal that stopped the run; ``None`` while none did."""

    @property
    def exit_code(self) -> int | None:
        """130 after Ctrl-C, 143 after SIGTERM, 129 after a hang-up."""
        return None if self.number is None else 128 + self.number

    def __enter__(self) -> Interrupts:
        loop = asyncio.get_running_loop()
        for number in _HANDLED:
            before = signal.getsignal(number)
            if before is signal.SIG_IGN:
                continue
            self._before[number] = before
            loop.add_signal_handler(number, self._arrived, number)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop = asyncio.get_running_loop()
        for number, before in self._before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, before)

    def _arrived(self, number: int) -> None:
        if self.number is not None:
            self._on_leave()
            # Nothing waits any more: the supervisors see the host go and end their trials.
            os._exit(128 + number)
        self.number = number
        self._on_first()
        self._stop.stop("interrupted" if number == signal.SIGINT else "terminated")
