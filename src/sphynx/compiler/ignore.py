"""``.gitignore`` rules, as git reads them: patterns of one file, and the files of a tree taken together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

_CLASSES = {
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "\\x21-\\x7e", "lower": "a-z", "print": "\\x20-\\x7e", "punct": "!-/:-@\\[-`{-~",
    "space": " \\t-\\r", "upper": "A-Z", "xdigit": "0-9a-fA-F",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a ``.gitignore``: ``regex`` matches the path (or name) below the file's own folder."""

    regex: re.Pattern[str]
    negated: bool
    folders_only: bool
    by_name: bool

    def matches(self, path: str, is_folder: bool) -> bool:
        """Whether ``path``, relative to the rule's folder, is meant."""
        if self.folders_only and not is_folder:
            return False
        return self.regex.fullmatch(path.rpartition("/")[2] if self.by_name else path) is not None


def parse(text: str) -> list[Rule]:
    """The rules of one ``.gitignore``, in order; blank lines, comments and broken patterns are left out."""
    rules = (_rule(line.removesuffix("\r")) for line in text.removeprefix("\ufeff").split("\n"))
    return [rule for rule in rules if rule is not None]


def is_ignored(path: str, is_folder: bool, levels: Sequence[tuple[str, Sequence[Rule]]]) -> bool:
    """Whether one entry is ignored, its parents not considered.

    ``levels`` are the rule files from the top down as (folder, rules), the folder relative and ``""`` at the
    top. The deepest file with a matching rule decides, and in it the last such rule.
    """
    for folder, rules in reversed(levels):
        inside = path[len(folder) + 1 :] if folder else path
        for rule in reversed(rules):
            if rule.matches(inside, is_folder):
                return not rule.negated
    return False


def _rule(line: str) -> Rule | None:
    pattern = _without_trailing_blanks(line)
    if not pattern or pattern.startswith("#"):
        return None
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    if folders_only:
        pattern = pattern[:-1]
    if not pattern:
        return None
    by_name = "/" not in pattern
    pattern = pattern.removeprefix("/")
    literal = re.match(r"[^*?\[\\]*", pattern)
    source = _translate(pattern, literal.end() if literal and not by_name else 0)
    return Rule(re.compile(source, re.DOTALL), negated, folders_only, by_name) if source is not None else None


def _without_trailing_blanks(line: str) -> str:
    end = len(line)
    while end and line[end - 1] == " ":
        slashes = len(line[: end - 1]) - len(line[: end - 1].rstrip("\\"))
        if slashes % 2:
            break
        end -= 1
    return line[:end]


@cache
def _translate(pattern: str, start: int) -> str | None:
    """A regular expression for git's wildmatch with path names; ``None`` when the pattern can never match.

    At ``start`` git begins to look at wildcards: it compares the text before them apart, so that ``**`` there
    counts as if a slash stood before it.
    """
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "*":
            text, at = _stars(pattern, at, start)
            out.append(text)
        elif char == "?":
            out.append("[^/]")
            at += 1
        elif char == "[":
            found = _bracket(pattern, at)
            if found is None:
                return None
            out.append(found[0])
            at = found[1]
        elif char == "\\":
            if at + 1 == len(pattern):
                return None
            out.append(re.escape(pattern[at + 1]))
            at += 2
        else:
            out.append(re.escape(char))
            at += 1
    return "".join(out)


def _stars(pattern: str, at: int, start: int) -> tuple[str, int]:
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    if end - at < 2 or not (at == start or pattern[at - 1] == "/"):
        return "[^/]*", end
    if end == len(pattern):
        return ".*", end
    slash = re.compile(r"\\?/").match(pattern, end)
    return ("(?:.*/)?", slash.end()) if slash else ("[^/]*", end)


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """One ``[...]`` set and where it ends; ``None`` when it never closes."""
    place = at + 1
    negated = pattern[place : place + 1] in ("!", "^")
    place += negated
    items: list[str] = []
    first = True
    while True:
        if place >= len(pattern):
            return None
        char = pattern[place]
        if char == "]" and not first:
            break
        first = False
        item = _bracket_item(pattern, place)
        if item is None:
            return None
        items.append(item[0])
        place = item[1]
    body = "".join(items)
    if negated:
        return f"[^/{body}]", place + 1
    return (f"(?!/)[{body}]" if body else "(?!)"), place + 1


def _bracket_item(pattern: str, place: int) -> tuple[str, int] | None:
    named = re.compile(r"\[:([a-z]*):\]").match(pattern, place)
    if named:
        found = _CLASSES.get(named[1])
        return (found, named.end()) if found is not None else None
    low, after = _bracket_char(pattern, place)
    if low is None:
        return None
    if pattern[after : after + 1] == "-" and pattern[after + 1 : after + 2] not in ("", "]"):
        high, end = _bracket_char(pattern, after + 1)
        if high is None:
            return None
        return (f"{re.escape(low)}-{re.escape(high)}" if low <= high else "", end)
    return re.escape(low), after


def _bracket_char(pattern: str, place: int) -> tuple[str | None, int]:
    if pattern[place] == "\\":
        if place + 1 >= len(pattern):
            return None, place
        return pattern[place + 1], place + 2
    return pattern[place], place + 1
