"""Output of a stage: shown as it comes, redacted, with its end kept for the reason of a failure."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from sphynx.redaction import Redactor

TAIL = 8_192


class Shown:
    """Takes the bytes of one stage. ``feed`` may be handed to ``Sandbox.exec`` as stdout and stderr."""

    __slots__ = ("_decoder", "_show", "_stream", "tail")

    def __init__(self, redactor: Redactor, show: Callable[[str], None]) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stream = redactor.stream()
        self._show = show
        self.tail = ""

    def feed(self, data: bytes) -> None:
        """Redact and show what can be shown without cutting a secret in two."""
        self._pass_on(self._stream.feed(self._decoder.decode(data)))

    def close(self) -> None:
        """Show what was held back."""
        rest = self._decoder.decode(b"", True)
        self._pass_on((self._stream.feed(rest) if rest else "") + self._stream.flush())

    def last_line(self) -> str:
        """The last line that says something, redacted."""
        for line in reversed(self.tail.splitlines()):
            if line.strip():
                return line.strip()
        return ""

    def _pass_on(self, text: str) -> None:
        if text:
            self.tail = (self.tail + text)[-TAIL:]
            self._show(text)
