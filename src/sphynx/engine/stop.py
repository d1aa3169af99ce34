"""A way to end a run from outside: a signal handler, another thread, a time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Stop:
    """Ask a run to end. Safe to call from a signal handler or another thread; only the first call counts."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._reason: str | None = None
        self._watchers: list[Callable[[], None]] = []

    @property
    def stopped(self) -> bool:
        """Whether somebody asked."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """What the first call gave."""
        return self._reason

    def stop(self, reason: str) -> None:
        """End the run: running trials are cancelled, the rest never start."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher()

    def watch(self, call: Callable[[], None]) -> Callable[[], None]:
        """Call ``call`` when the run is stopped, or now if it is already. Returns what takes it off."""
        with self._lock:
            if self._reason is None:
                self._watchers.append(call)
                return lambda: self._watchers.remove(call) if call in self._watchers else None
        call()
        return lambda: None
