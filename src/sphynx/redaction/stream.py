"""Redaction of text that arrives in pieces: nothing leaves that could still turn out to be a secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphynx.redaction.noise import NOISE, blanked
from sphynx.redaction.shapes import open_pem, pem_spans, shape_spans
from sphynx.redaction.spans import MARK, View, merged

if TYPE_CHECKING:
    from sphynx.redaction.redactor import Redactor

HOLD = 16_384
"""An unbroken word longer than this is let go piece by piece, whatever it may still become."""

_LEAST_WRAPPED = 8
"""A secret that a line break splits is expected only when this much of it stands before the break."""

_OPEN_BEARER = re.compile(r"[Bb]\x1b*e\x1b*a\x1b*r\x1b*e\x1b*r(?:\x1b*[ \t])+\x1b*\Z")
_WORD_REST = re.compile(r"[A-Za-z0-9._~+/=\x1b-]*")


class StreamRedactor:
    """Feed it text, print what it returns, ``flush`` at the end.

    It holds back the last unfinished word, and whatever may be the beginning of a known secret or of a
    private key block. The output never depends on where the pieces were split in a way that shows a secret.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._dropping = False

    def feed(self, text: str) -> str:
        """What of everything so far is safe to show now and was not shown before."""
        text = self._held + text
        if self._dropping:
            text = self._drop(text)
        cut = self._safe_end(text)
        if len(text) - cut > self._hold_limit():
            return self._let_go(text)
        self._held = text[cut:]
        return self._redactor.text(text[:cut])

    def flush(self) -> str:
        """The rest, redacted. The stream may be used again afterwards."""
        text = self._held
        if self._dropping:
            text = self._drop(text)
        self._held, self._dropping = "", False
        return self._redactor.text(text)

    def _drop(self, text: str) -> str:
        """The rest of a key that was too long to hold."""
        rest = text[_WORD_REST.match(text).end() :]  # type: ignore[union-attr]
        self._dropping = not rest
        return rest

    def _hold_limit(self) -> int:
        forms = self._redactor.forms
        return max(HOLD, 2 * len(forms[0])) if forms else HOLD

    def _safe_end(self, text: str) -> int:
        """Where to cut so that no secret, whole or begun, lies across the cut."""
        plain = blanked(text)
        spans = merged([*self._redactor.known_spans(text), *pem_spans(text)])
        end = min(open_pem(text), self._begun(text))
        bearer = None
        while True:
            before = end
            end = _after_last_blank(plain[:end])
            if bearer is None:
                bearer = _OPEN_BEARER.search(plain, max(0, end - 200), end)
                end = end if bearer is None else bearer.start()
            for start, stop in reversed(spans):
                if start < end < stop:
                    end = start
            if end == before:
                return end

    def _begun(self, text: str) -> int:
        """Where a known secret begins that the end of the text cuts off; the text's length if none."""
        forms = self._redactor.forms
        if not forms:
            return len(text)
        begun = len(text) - _longest_start(text, forms)
        tail_at = max(0, len(text) - 8 * len(forms[0]) - 4096)
        view = View(text[tail_at:], NOISE)
        wrapped = _longest_start(view.text, forms)
        if wrapped >= _LEAST_WRAPPED:
            begun = min(begun, tail_at + view.position(len(view.text) - wrapped))
        return begun

    def _let_go(self, text: str) -> str:
        """Bounds what is held: shows all but the end, whole keys at the cut replaced."""
        end = len(text) - self._hold_limit() // 2
        crossing = [
            span
            for span in (*self._redactor.known_spans(text), *shape_spans(text))
            if span[0] < end < span[1]
        ]
        start = min((span[0] for span in crossing), default=end)
        end = max((span[1] for span in crossing), default=end)
        if start < end == len(text):
            self._held, self._dropping = "", True
            return self._redactor.text(text[:start]) + MARK
        self._held = text[end:]
        return self._redactor.text(text[:end])


def _after_last_blank(text: str) -> int:
    """One past the last whitespace character."""
    if not text or text[-1].isspace():
        return len(text)
    return len(text) - len(text.rsplit(None, 1)[-1])


def _longest_start(text: str, forms: tuple[str, ...]) -> int:
    """The length of the longest end of ``text`` that is the beginning, not the whole, of a form."""
    longest = 0
    for form in forms:
        at = max(0, len(text) - len(form) + 1)
        at = text.find(form[0], at)
        while at >= 0 and len(text) - at > longest:
            if form.startswith(text[at:]):
                longest = len(text) - at
                break
            at = text.find(form[0], at + 1)
    return longest
