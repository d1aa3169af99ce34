"""How text may look on one stream: colour or not, symbols or ASCII, how wide. Decided once per stream."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
# One for one, so that falling back to ASCII moves no column.
_ASCII = str.maketrans({
    "✓": "+", "✗": "x", "○": "o", "◐": "*", "·": ".", "❯": ">", "◆": "*", "├": "|", "└": "`", "│": "|",
    "×": "x", "…": "~", "±": "~", "•": "*", "─": "-",
})  # fmt: skip
_WIDTH_WITHOUT_TERMINAL = 100
_NARROWEST = 40

MARKS = {
    "passed": "✓",
    "failed": "✗",
    "void": "○",
    "timed_out": "○",
    "cancelled": "·",
    "running": "◐",
    "waiting": "·",
}
COLOURS = {"passed": "green", "failed": "red", "void": "yellow", "timed_out": "yellow", "cancelled": "dim",
           "running": "cyan", "waiting": "dim"}  # fmt: skip


def words(status: str) -> str:
    """A status as people read it: ``timed_out`` is ``timed out``."""
    return status.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Style:
    """What one stream can show. ``width`` is in terminal cells."""

    colour: bool = False
    symbols: bool = True
    width: int = _WIDTH_WITHOUT_TERMINAL
    interactive: bool = False
    """A terminal that can move its cursor: the live grid may be drawn."""

    def paint(self, text: str, *names: str) -> str:
        """``text`` in the named colours, or as it is where there are none."""
        if not self.colour or not text or not names:
            return text
        return f"\x1b[{';'.join(_CODES[name] for name in names)}m{text}\x1b[0m"

    def mark(self, status: str) -> str:
        """The coloured mark of a status."""
        return self.paint(MARKS[status], COLOURS[status])

    def plain(self, text: str) -> str:
        """``text`` with our symbols in ASCII where the terminal has no others."""
        return text if self.symbols else text.translate(_ASCII)


def style_of(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Style:
    """The style for ``stream``: ``NO_COLOR``, ``FORCE_COLOR``, ``TERM=dumb`` and the encoding decide."""
    terminal = stream.isatty()
    dumb = environ.get("TERM", "") in ("dumb", "unknown") or (terminal and not environ.get("TERM"))
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "").replace("_", "")
    colour = terminal and not dumb
    if environ.get("FORCE_COLOR", "") not in ("", "0"):
        colour = True
    if environ.get("NO_COLOR"):
        colour = False
    return Style(
        colour=colour,
        symbols=encoding.startswith("utf") and not (terminal and dumb),
        width=_width(terminal, environ),
        interactive=terminal and not dumb,
    )


def _width(terminal: bool, environ: Mapping[str, str]) -> int:
    given = environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return max(_NARROWEST, int(given))
    if not terminal:
        return _WIDTH_WITHOUT_TERMINAL
    return max(_NARROWEST, shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns)
