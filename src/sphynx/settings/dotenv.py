"""Env files as ``sphynx env import`` reads them (contract: env-file parsing).

The local run's own reader of ``.env`` is :mod:`sphynx.settings.forwarding`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)\Z", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#")
_ESCAPE = re.compile(r"\\([\"\\nrt])")
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_DOUBLE = re.compile(r"\"((?:[^\"\\]|\\.)*+)\"", re.DOTALL)
_SINGLE = re.compile(r"'([^']*+)'")


@dataclass(frozen=True, slots=True)
class EnvFile:
    """``entries`` hold (name, value) in order, ``empty`` the names whose value is empty."""

    entries: tuple[tuple[str, str], ...]
    empty: tuple[str, ...]


def parse(text: str) -> EnvFile:
    """Every ``NAME=value`` of an env file; a repeated name keeps its last value and place.

    Values may be quoted, and a quoted one may go on over several lines. Lines that are no assignment are
    skipped.
    """
    lines = re.split(r"\r?\n", text)
    found: dict[str, str] = {}
    unclosed: set[str] = set()
    at = 0
    while at < len(lines):
        match = _ENTRY.match(lines[at])
        at += 1
        if match is None:
            continue
        name, rest = match.groups()
        value, more = _value(rest, lines, at, unclosed)
        at += more
        found.pop(name, None)
        found[name] = value
    return EnvFile(
        entries=tuple((name, value) for name, value in found.items() if value),
        empty=tuple(name for name, value in found.items() if not value),
    )


def _value(rest: str, lines: list[str], at: int, unclosed: set[str]) -> tuple[str, int]:
    """The value that starts with ``rest``, and how many further lines it takes."""
    quote = rest[:1]
    if quote in ('"', "'"):
        match = _quoted(rest, lines, at, unclosed)
        if match is not None:
            inner = match.group(1)
            value = _ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], inner) if quote == '"' else inner
            return value, match.group().count("\n")
    return _plain(rest), 0


def _quoted(rest: str, lines: list[str], at: int, unclosed: set[str]) -> re.Match[str] | None:
    pattern = _DOUBLE if rest[0] == '"' else _SINGLE
    match = pattern.match(rest)
    if match is not None or rest[0] in unclosed:
        return match
    match = pattern.match("\n".join([rest, *lines[at:]]))
    if match is None:
        # No later value can close this quote either: do not read the rest of the file again for each.
        unclosed.add(rest[0])
    return match


def _plain(rest: str) -> str:
    comment = _COMMENT.search(rest)
    value = (rest if comment is None else rest[: comment.start()]).strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value
