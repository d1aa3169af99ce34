"""Strict JSON that remembers where every value stands, so that a problem can name its line and column."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from typing import Any, NamedTuple, TypeAlias, cast

Path: TypeAlias = tuple[str | int, ...]

DEEPEST = 100
"""Levels of nesting; no evals file has ten."""

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None}


class Place(NamedTuple):
    """A line and a column, both from 1."""

    line: int
    column: int


class JsonError(Exception):
    """The text is no JSON, or repeats a key; ``place`` says where."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message = message
        self.place = place


class Document:
    """A parsed text: ``value``, and the place of each value by its path."""

    __slots__ = ("_starts", "spots", "value")

    def __init__(self, value: Any, spots: dict[Path, int], text: str) -> None:
        self.value = value
        self.spots = spots
        self._starts = line_starts(text)

    def place(self, path: Path) -> Place:
        """Where the value at ``path`` stands, else the nearest value around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.spots:
                return place_of(self._starts, self.spots[path[:length]])
        return Place(1, 1)


def line_starts(text: str) -> list[int]:
    """The offset each line begins at."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


def place_of(starts: list[int], offset: int) -> Place:
    """An offset as line and column."""
    from bisect import bisect_right

    line = bisect_right(starts, offset)
    return Place(line, offset - starts[line - 1] + 1)


def parse(text: str) -> Document:
    """Parse ``text``; a byte order mark before it is allowed. ``JsonError`` for anything that is not JSON,
    for a key written twice in one object, and for text that is not valid Unicode."""
    return _Parser(text.removeprefix("\ufeff")).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.spots: dict[Path, int] = {}

    def document(self) -> Document:
        start = self._blank(0)
        value, end = self._value(start, ())
        end = self._blank(end)
        if end != len(self.text):
            raise self._error("there is more after the end", end)
        return Document(value, self.spots, self.text)

    def _value(self, at: int, path: Path) -> tuple[Any, int]:
        self.spots[path] = at
        sign = self.text[at : at + 1]
        if len(path) > DEEPEST:
            raise self._error(f"more than {DEEPEST} levels of nesting", at)
        if sign == "{":
            return self._object(at + 1, path)
        if sign == "[":
            return self._array(at + 1, path)
        if sign == '"':
            return self._text(at)
        return self._plain(at)

    def _plain(self, at: int) -> tuple[Any, int]:
        for word, value in _WORDS.items():
            if self.text.startswith(word, at):
                return value, at + len(word)
        found = _NUMBER.match(self.text, at)
        if found is None:
            what = "the text ends in the middle" if at >= len(self.text) else "a value is expected"
            raise self._error(what, at)
        try:
            return json.loads(found.group()), found.end()
        except ValueError:
            raise self._error("this number is too long", at) from None

    def _text(self, at: int) -> tuple[str, int]:
        try:
            value, end = cast("tuple[str, int]", scanstring(self.text, at + 1, True))
        except json.JSONDecodeError as error:
            what = (
                "a text is not closed"
                if "Unterminated" in error.msg
                else error.msg[:1].lower() + error.msg[1:]
            )
            raise self._error(what, at if "Unterminated" in error.msg else error.pos) from None
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            raise self._error("this text is not valid Unicode", at)
        return value, end

    def _object(self, at: int, path: Path) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        at = self._blank(at)
        if self.text.startswith("}", at):
            return found, at + 1
        while True:
            if not self.text.startswith('"', at):
                raise self._error(self._cut(at, "a key in double quotes is expected"), at)
            key_at = at
            key, at = self._text(at)
            if key in found:
                raise self._error(f'the key "{key}" is written twice in one object', key_at)
            at = self._blank(at)
            if not self.text.startswith(":", at):
                raise self._error(self._cut(at, "a colon is expected"), at)
            found[key], at = self._value(self._blank(at + 1), (*path, key))
            at = self._blank(at)
            if self.text.startswith("}", at):
                return found, at + 1
            at = self._comma(at, "}")

    def _array(self, at: int, path: Path) -> tuple[list[Any], int]:
        found: list[Any] = []
        at = self._blank(at)
        if self.text.startswith("]", at):
            return found, at + 1
        while True:
            value, at = self._value(at, (*path, len(found)))
            found.append(value)
            at = self._blank(at)
            if self.text.startswith("]", at):
                return found, at + 1
            at = self._comma(at, "]")

    def _comma(self, at: int, close: str) -> int:
        if not self.text.startswith(",", at):
            raise self._error(self._cut(at, f'a comma or "{close}" is expected'), at)
        after = self._blank(at + 1)
        if self.text.startswith(close, after):
            raise self._error(f'a comma before "{close}" is not allowed', at)
        return after

    def _cut(self, at: int, message: str) -> str:
        return "the text ends in the middle" if at >= len(self.text) else message

    def _blank(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def _error(self, message: str, at: int) -> JsonError:
        return JsonError(message, place_of(line_starts(self.text), min(at, len(self.text))))
