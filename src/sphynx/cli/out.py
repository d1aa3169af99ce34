"""Where lines go: results to stdout, status to stderr, and a reader that went away stops nothing."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from sphynx.cli.render.style import Style, style_of


class Out:
    """One output stream with its style."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.style: Style = style_of(stream)
        self._gone = False
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # A terminal that cannot show a character shows a question mark, never a traceback.
            reconfigure(errors="replace")

    def write(self, text: str) -> None:
        """Write and flush. A closed pipe is remembered and the rest is dropped."""
        if self._gone:
            return
        try:
            self.stream.write(self.style.plain(text))
            self.stream.flush()
        except BrokenPipeError:
            self._gone = True
            silence(self.stream)

    def line(self, text: str = "") -> None:
        """One line."""
        self.write(text + "\n")


def silence(stream: TextIO) -> None:
    """Point a broken stream at nothing, so that the interpreter's last flush does not complain."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        return


def stdout() -> Out:
    """Results: grids, summaries, JSON."""
    return Out(sys.stdout)


def stderr() -> Out:
    """Status: progress, notes, errors."""
    return Out(sys.stderr)
