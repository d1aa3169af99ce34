"""The bottom of a terminal that redraws while lines scroll above it. Knows nothing of evals."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TextIO

from sphynx.cli.render.text import width

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_CLEAR_BELOW = "\x1b[J"


class Live:
    """Keeps ``footer(columns, lines)`` at the end of the screen. ``line`` queues; ``draw`` writes all of it.

    Whoever owns it calls ``draw`` at most ten times a second and ``close`` once, which leaves the cursor
    where the footer began.
    """

    def __init__(self, write: Callable[[str], None], footer: Callable[[int, int], Sequence[str]]) -> None:
        self._write = write
        self._footer = footer
        self._queue: list[str] = []
        self._height = 0
        self._hidden = False

    def line(self, text: str) -> None:
        """One line to scroll above the footer at the next draw."""
        self._queue.append(text)

    def draw(self) -> None:
        """Erase the footer, write the queued lines, write the footer again."""
        size = shutil.get_terminal_size((100, 24))
        footer = fit(self._footer(size.columns, max(3, size.lines - 2)), size.lines - 1)
        text = "".join(line + "\n" for line in (*self._queue, *footer))
        self._write(("" if self._hidden else _HIDE) + self._erase() + text)
        self._queue.clear()
        self._hidden = True
        self._height = sum(max(1, -(-width(line) // max(1, size.columns))) for line in footer)

    def close(self) -> None:
        """Write what is queued, remove the footer, show the cursor again."""
        text = self._erase() + "".join(line + "\n" for line in self._queue)
        self._queue.clear()
        self._height = 0
        if text or self._hidden:
            self._write(text + (_SHOW if self._hidden else ""))
        self._hidden = False

    def _erase(self) -> str:
        return f"\x1b[{self._height}F{_CLEAR_BELOW}" if self._height else ""


def fit(lines: Sequence[str], height: int) -> list[str]:
    """At most ``height`` lines: the last ones, since the clock stands there."""
    return list(lines[-height:]) if height > 0 else []


def restore(stream: TextIO) -> None:
    """Show the cursor on a terminal that is left in a hurry."""
    stream.write(_SHOW)
    stream.flush()
