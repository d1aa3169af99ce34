"""What a process printed last, for the error that says why it ended."""

from __future__ import annotations

import re
from _thread import allocate_lock
from collections import deque

_KEPT = 200
_LONGEST = 2_000
_COLOUR = r"\x1b\[[0-9;?]*[A-Za-z]"
_BANNER = r"\W*eve v?\d+\.\d+\.\d+\S*|Node\.js v\d+\.\d+\.\d+\S*"


class OutputTail:
    """The last lines of several streams, in the order in which each line STARTED.

    A line that arrives in pieces stays whole where it began, whatever other streams print in between.
    """

    def __init__(self) -> None:
        self._lines: deque[bytearray] = deque(maxlen=_KEPT)
        self._open: dict[str, bytearray] = {}
        self._lock = allocate_lock()

    def feed(self, stream: str, data: bytes) -> None:
        """Take what ``stream`` printed."""
        with self._lock:
            for part in data.splitlines(keepends=True):
                line = self._open.pop(stream, None)
                if line is None:
                    line = bytearray()
                    self._lines.append(line)
                if len(line) < _LONGEST:
                    line += part.rstrip(b"\r\n")[: _LONGEST - len(line)]
                if not part.endswith((b"\n", b"\r")):
                    self._open[stream] = line

    def last(self, count: int) -> list[str]:
        """The last ``count`` lines that are neither empty nor a version banner, without colours."""
        with self._lock:
            texts = [line.decode("utf-8", "replace") for line in self._lines]
        plain = [re.sub(_COLOUR, "", text).strip() for text in texts]
        return [text for text in plain if text and not re.fullmatch(_BANNER, text)][-count:]
