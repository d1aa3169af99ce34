"""What may stand between the characters of a secret without hiding it from a reader."""

from __future__ import annotations

import re

_CODE_REST = r"[0-?]*+[ -/]*+[@-~]"
_CODE = rf"\[{_CODE_REST}"
_ESCAPE_REST = rf"{_CODE}|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[PX^_][^\x1b]*+\x1b\\|[ -/]*+[0-~]"
_ESCAPE_SPELT = rf"(?:u001[bB]|x1[bB]|033|e){_CODE}"

ESCAPES = re.compile(rf"\x1b(?:{_ESCAPE_REST})|\x9b{_CODE_REST}|\\{_ESCAPE_SPELT}")
"""Terminal control sequences, raw or as JSON and shell texts spell them."""

# It begins with a set of characters so that the search skips all others at full speed.
NOISE = re.compile(
    rf"[\x1b\x9b\\\r\n\x00](?:(?<=[\r\n\x00])|(?<=\\)(?:[rn]|{_ESCAPE_SPELT})"
    rf"|(?<=\x1b)(?:{_ESCAPE_REST})|(?<=\x9b){_CODE_REST})"
)
"""Escapes, line breaks (``base64`` wraps its lines) and NUL bytes (UTF-16 printed as bytes)."""

DIFF_NOISE = re.compile(rf"\n[+ -]|{NOISE.pattern}")
"""The same in a unified diff, where a mark stands before every line."""

_OPEN_ESCAPE = re.compile(
    r"(?:\x1b|\\(?:u(?:0(?:0(?:1[bB]?)?)?)?|x(?:1[bB]?)?|0(?:3(?:3)?)?|e)?)(?:\[[0-?]*+[ -/]*+)?\Z"
    r"|\x9b[0-?]*+[ -/]*+\Z"
)


def has_escapes(text: str) -> bool:
    """Whether a terminal sequence may be in ``text``."""
    return "\x1b" in text or "\x9b" in text or ("\\" in text and ESCAPES.search(text) is not None)


def has_noise(text: str) -> bool:
    """Whether ``NOISE`` may match in ``text``; cheap, and never wrong when it says no."""
    return "\n" in text or "\\" in text or "\x1b" in text or "\r" in text or "\x00" in text or "\x9b" in text


def without_noise(text: str) -> str:
    """``text`` as a reader would put it together."""
    if "\\" in text or "\x1b" in text or "\x9b" in text:
        return NOISE.sub("", text)
    return text.replace("\n", "").replace("\r", "").replace("\x00", "")


def blanked(text: str) -> str:
    """``text`` with every escape, also one that has only begun, as a run of ESC of the same length."""
    if not ("\x1b" in text or "\x9b" in text or "\\" in text):
        return text
    text = ESCAPES.sub(_run, text)
    tail_at = max(0, len(text) - 300)
    return text[:tail_at] + _OPEN_ESCAPE.sub(_run, text[tail_at:])


def _run(match: re.Match[str]) -> str:
    return "\x1b" * len(match.group())
