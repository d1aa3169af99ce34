"""Texts that look like credentials whoever made them (contract: redaction shapes).

Every search starts from a fixed needle found with ``str.find`` and no pattern can backtrack, so the time is
linear in the text whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sphynx.redaction.noise import ESCAPES, has_escapes
from sphynx.redaction.spans import MARK, Span, View, merged, replaced

PEM_LIMIT = 32_768
"""A private key block is at most this many characters; a longer one counts as never closed."""

_PASSES = 4
"""What is left when something is gone may be a credential too: a URL whose password held a key block."""


def _token(needle: str, rest: str) -> tuple[str, re.Pattern[str]]:
    return needle, re.compile(re.escape(needle) + rest)


_WORD = "[A-Za-z0-9_-]"
_TOKENS: dict[str, re.Pattern[str]] = dict(
    (
        _token("sk-", rf"(?=[A-Za-z_-]*+[0-9]){_WORD}{{20,}}+"),
        *(_token(f"{a}k_{b}_", "[A-Za-z0-9]{10,}+") for a in "sr" for b in ("live", "test")),
        _token("am_sk_", rf"{_WORD}++"),
        _token("anp_", rf"{_WORD}{{16,}}+"),
        *(_token(f"gh{kind}_", "[A-Za-z0-9]{20,}+") for kind in "pousr"),
        _token("github_pat_", "[A-Za-z0-9_]{20,}+"),
        _token("xox", "[abeoprs]-[A-Za-z0-9-]{10,}+"),
        _token("AKIA", "[A-Z0-9]{16,}+"),
        _token("ASIA", "[A-Z0-9]{16,}+"),
        _token("AIza", rf"{_WORD}{{35,}}+"),
        _token("eyJ", rf"{_WORD}{{5,}}+\.{_WORD}{{8,}}+\.{_WORD}{{8,}}+"),
    )
)
"""How a key goes on after the needle it begins with."""
_NEEDLES: tuple[str, ...] = tuple(_TOKENS)
_PEM = "-----BEGIN"
_BEARER_END = "earer"
_BEARER = re.compile(r"[Bb]earer[ \t]++((?=[A-Za-z._~+/-]*+[0-9])[A-Za-z0-9._~+/-]{16,}+=*+)")
_PORT = r"\d{1,5}[]?#/\"',;)}<>\\]"
# A password ends at the last @ before a quote; only one that holds a quote itself goes beyond it.
_PASSWORD = re.compile(rf":(?://|\\/\\/)[^\s/:@\\]*+:((?!{_PORT})(?:[^\s/\"'`<>]+(?=@)|[^\s/]+(?=@)))")
_PEM_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]++ )*?PRIVATE KEY(?: BLOCK)?-----")
_PEM_TAIL = re.compile(r"-----END (?:[A-Z0-9]++ )*?PRIVATE KEY(?: BLOCK)?-----")
_PEM_BEGUN = re.compile(r"-----BEGIN[A-Z0-9 ]*+-{0,5}\Z")
_BREAK = r"(?:\s|\\[nr])"
_PEM_LINES = re.compile(rf"(?:{_BREAK}++[A-Za-z0-9+/=]{{16,}}+)++(?:{_BREAK}++[A-Za-z0-9+/=]+\Z)?")
_PEM_GROWING = re.compile(
    rf"(?:{_BREAK}++(?:[A-Za-z0-9+/=]{{16,}}+|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*+)?+)*+"
    rf"[A-Za-z0-9+/=]*+{_BREAK}*+(?:\\|-{{1,5}}(?:E(?:N(?:D[A-Z0-9 ]*+)?)?)?-{{0,5}})?\Z"
)
_MARKERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("_", tuple(needle for needle in _NEEDLES if needle.endswith("_"))),
    ("-", ("sk-", "xox", _PEM)),
    (":", ("://", ":\\/\\/")),
    ("A", ("AKIA", "ASIA", "AIza")),
    ("J", ("eyJ",)),
    ("r", (_BEARER_END,)),
)
"""What a text must hold to be looked at closely, by one character that is cheap to look for first."""


def redact_shapes(text: str) -> str:
    """``text`` with everything that looks like a credential replaced by the mark."""
    for _ in range(_PASSES):
        clean = _redact_coloured(text) if has_escapes(text) else replaced(text, shape_spans(text))
        if clean == text:
            break
        text = clean
    return text


def shape_spans(text: str) -> list[Span]:
    """Where credentials seem to stand in a text without terminal sequences, ordered and disjoint."""
    spans = [span for marker in _markers(text) for span in _spans_of(text, marker)]
    return _with_neighbours(text, merged(spans)) if spans else spans


def _markers(text: str) -> list[str]:
    # A plain loop: this runs for every text of every event, and most hold no marker.
    found: list[str] = []
    for sign, markers in _MARKERS:
        if sign in text:
            found += [marker for marker in markers if marker in text]
    return found


def _spans_of(text: str, marker: str) -> Iterator[Span]:
    if marker == _PEM:
        return pem_spans(text)
    if marker == _BEARER_END:
        return _bearer_spans(text)
    return _token_spans(text, marker) if marker in _TOKENS else _password_spans(text, marker)


def _redact_coloured(text: str) -> str:
    view = View(text, ESCAPES)
    spans = [view.source_span(span) for span in shape_spans(view.text)]
    # A key right after a colour code starts a word, though the code ends in a letter.
    apart = ESCAPES.sub(lambda match: " " * len(match.group()), text)
    return replaced(text, merged([*spans, *shape_spans(apart)]))


def _starts_word(text: str, index: int) -> bool:
    before = text[index - 1 : index]
    return not (before.isascii() and (before.isalnum() or before in ("_", "-")))


def _found(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + len(needle))


def _token_spans(text: str, needle: str) -> Iterator[Span]:
    pattern = _TOKENS[needle]
    for start in _found(text, needle):
        if _starts_word(text, start):
            match = pattern.match(text, start)
            if match is not None:
                yield match.span()


def _with_neighbours(text: str, spans: list[Span]) -> list[Span]:
    """Adds keys that follow a span directly: once it is gone they would start a word."""
    result: list[Span] = []
    for start, end in spans:
        if result and start < result[-1][1]:
            start, end = result[-1][1], max(end, result[-1][1])
        if start < end:
            result.append((start, end))
        while (more := _token_at(text, result[-1][1])) is not None:
            result.append(more)
    return result


def _token_at(text: str, index: int) -> Span | None:
    if text.startswith(_NEEDLES, index):
        for pattern in _TOKENS.values():
            match = pattern.match(text, index)
            if match is not None:
                return match.span()
    return None


def _bearer_spans(text: str) -> Iterator[Span]:
    for at in _found(text, _BEARER_END):
        match = _BEARER.match(text, at - 1) if at else None
        if match is not None:
            yield match.span(1)


def _password_spans(text: str, needle: str) -> Iterator[Span]:
    for at in _found(text, needle):
        match = _PASSWORD.match(text, at) if at else None
        if match is not None and match.group(1) != MARK:
            yield match.span(1)


def pem_spans(text: str) -> Iterator[Span]:
    """Whole private key blocks; of one that never closes, its head and the lines that look like a key."""
    at = text.find(_PEM)
    while at >= 0:
        head = _PEM_HEAD.match(text, at)
        if head is None:
            at = text.find(_PEM, at + 1)
            continue
        another = text.find(_PEM, head.end(), at + PEM_LIMIT)
        tail = _PEM_TAIL.search(text, head.end(), another if another >= 0 else at + PEM_LIMIT)
        end = tail.end() if tail else _open_end(text, head.end())
        if end > head.end():
            yield at, end
        at = text.find(_PEM, end)


def open_pem(text: str) -> int:
    """Where a private key block begins that may still go on after ``text``; the text's length if none."""
    at = text.rfind(_PEM)
    if at < 0 or len(text) - at > PEM_LIMIT:
        return len(text)
    head = _PEM_HEAD.match(text, at)
    begun = _PEM_BEGUN.match(text, at) if head is None else _PEM_GROWING.match(text, head.end())
    return len(text) if begun is None else at


def _open_end(text: str, start: int) -> int:
    lines = _PEM_LINES.match(text, start)
    return lines.end() if lines else start
