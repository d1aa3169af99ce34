"""How much evidence the guest may send. Lengths are UTF-16 units, as the wire counts them.

The host stores less (16,000 a value, 64,000 a check), after taking secrets out; see ``cut_within``.
"""

from __future__ import annotations

from sphynx.guest.protocol import whole

VALUE = 64_000
CHECK = 192_000
CALLS = 64
LOGS = 64
MESSAGE = 16_000
"""A check's message as sent. It is stored with 2,000 characters, cut by the host after redaction."""
PREPARED = 16_000
DEFAULT_CHECK_MS = 300_000

_SAFE = 24_000
"""The least a cut may leave: the 16,000 that are stored and room for a secret that crosses that line."""
_WORD = 4_000
_BETWEEN = " \n\t\r\"',;"


def units(text: str) -> int:
    """The length of ``text`` in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int) -> str:
    """The first ``limit`` units of ``text``; a character of two units is kept whole or left out."""
    head = whole(text[: max(limit, 0)])
    if head.isascii():
        return head
    return head.encode("utf-16-le")[: limit * 2].decode("utf-16-le", "ignore")


def cut_within(text: str, rest: int) -> str:
    """``text`` cut for one value of a check with ``rest`` units left.

    The host redacts before it cuts to 16,000, so a cut made here must leave clearly more than that or
    nothing: else half a secret could be stored, which no pattern recognises. Redaction may shorten the text
    below 16,000, so the cut is made between words where there is such a place near.
    """
    limit = min(VALUE, rest)
    kept = cut(text, limit)
    if len(kept) == len(text):
        return kept
    if limit < _SAFE:
        return ""
    start = len(kept) - _WORD
    return kept[: max(kept.rfind(mark, start) + 1 for mark in _BETWEEN) or None]
