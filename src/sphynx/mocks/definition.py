"""What all mocks are made of: the fields that were given, where, and what is wrong with them.

Builders never raise. The suite a mock is attached to asks for its ``problems`` and tells them with its own;
it knows mocks by their ``sphynx_kind``, because rooms of one row do not import each other.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, cast

from sphynx.errors import Problem

Handler: TypeAlias = Callable[..., Any]
"""Takes the validated input and, when it has a second parameter, a ``MockContext``; may be ``async def``."""
Said: TypeAlias = Iterator[tuple[str, str, str | None]]
"""Faults: the field, what is wrong with it, and a hint."""
Check: TypeAlias = Callable[[Any], "str | tuple[str, str] | None"]
"""Says what is wrong with a value, perhaps with a hint; ``None`` when nothing is."""


class Field:
    """One field of a mock's builder."""

    __slots__ = ("check", "doc", "name", "required")

    def __init__(self, name: str, check: Check, doc: str, *, required: bool = False) -> None:
        self.name = name
        self.check = check
        self.doc = doc
        self.required = required


class Declared:
    """One mock, or a part of one: ``given`` are the builder's fields, ``file`` and ``line`` its call."""

    __slots__ = ("__weakref__", "cached", "file", "given", "line")
    fields: ClassVar[Sequence[Field]] = ()
    builder: ClassVar[str] = ""
    named_by: ClassVar[str] = "name"
    made_of: ClassVar[tuple[str, ...]] = ()
    """The fields that hold its parts."""

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = dict(given)
        self.file, self.line = caller()
        self.cached: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"{self.builder}({self.label!r})"

    @property
    def label(self) -> str:
        """What it is called in errors."""
        value = self.given.get(self.named_by)
        return " ".join(str(part) for part in value) if isinstance(value, (list, tuple)) else str(value or "")

    def get(self, name: str, default: Any = None) -> Any:
        """A field's value, ``default`` when it was not given."""
        value = self.given.get(name)
        return default if value is None else value

    def parts(self) -> Sequence[Any]:
        """Its tools, resources, commands or endpoints."""
        found: list[Any] = []
        for name in self.made_of:
            value = self.given.get(name)
            found += cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()
        return found

    def unfit(self) -> Said:
        """What is wrong beyond single fields; asked only when those are right."""
        return iter(())

    def problems(self, where: str = "") -> Iterator[Problem]:
        """Everything wrong with it and its parts; ``where`` is what it is attached to."""
        here = f'{self.builder}("{self.label}")' if self.label else f"{self.builder}()"
        here = f"{where}, {here}" if where else here
        faults = list(self._faults())
        for at, text, hint in faults or self.unfit():
            message = f"{at} {text}" if at else text
            yield Problem(message, where=here, file=self.file, line=self.line, hint=hint)
        for part in self.parts():
            if isinstance(part, Declared):
                yield from part.problems(here)

    def _faults(self) -> Said:
        known = [field.name for field in self.fields]
        for key in self.given:
            if key not in known:
                yield "", f'unknown field "{key}"', _hint(str(key), known, self.builder)
        for field in self.fields:
            value = self.given.get(field.name)
            if value is None:
                if field.required:
                    yield field.name, "is missing", field.doc
                continue
            said = field.check(value)
            if said is not None:
                text, hint = said if isinstance(said, tuple) else (said, None)
                yield field.name, text, hint


def _hint(key: str, known: Sequence[str], builder: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=1, cutoff=0.6)
    return f'did you mean "{near[0]}"?' if near else f"{builder}() has: " + ", ".join(known)


def caller() -> tuple[str, int]:
    """File (absolute) and line of the nearest frame outside this package."""
    depth = 1
    while True:
        try:
            frame = sys._getframe(depth)
        except ValueError:
            return "", 0
        if not str(frame.f_globals.get("__name__", "")).startswith("sphynx."):
            name = frame.f_code.co_filename
            return (name if name.startswith("<") else os.path.abspath(name)), frame.f_lineno  # noqa: PTH100
        depth += 1


def kind_of(value: object) -> str:
    """A value's type as an error names it."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def text(*, pattern: str = "", example: str = "", high: int = 2_000) -> Check:
    """Text that is not blank, at most ``high`` characters, that matches ``pattern`` as a whole."""

    def check(value: Any) -> str | tuple[str, str] | None:
        if not isinstance(value, str):
            return f"must be text, not {kind_of(value)}"
        if not value.strip():
            return "must not be blank"
        if len(value) > high:
            return f"must be at most {high:,} characters, this one has {len(value):,}"
        if pattern and not re.fullmatch(pattern, value):
            return f'has a form that is not allowed: "{value}"', f"for example {example}"
        return None

    return check


def anything(value: Any) -> None:
    """Whatever it is: schemas are looked at when the single fields are right."""


def function(value: Any) -> str | None:
    """Something to call that is not a class."""
    if not callable(value) or isinstance(value, type):
        return f"must be a function, not {kind_of(value)}"
    return None


def listing(kind: type, called: str, *, low: int = 0) -> Check:
    """A list of ``kind`` objects."""

    def check(value: Any) -> str | None:
        if not isinstance(value, (list, tuple)):
            return f"must be a list of {called}, not {kind_of(value)}"
        if len(cast("Sequence[object]", value)) < low:
            return f"must hold at least one {called}"
        wrong = [item for item in cast("Sequence[object]", value) if not isinstance(item, kind)]
        return f"must hold only {called}, not {kind_of(wrong[0])}" if wrong else None

    return check


def texts(value: Any) -> str | None:
    """A list of texts that are not blank."""
    if not isinstance(value, (list, tuple)):
        return f"must be a list of texts, not {kind_of(value)}"
    wrong = [item for item in value if not isinstance(item, str) or not item.strip()]
    return "must hold only texts that are not blank" if wrong else None


def repeated(names: Sequence[str]) -> list[str]:
    """Names that are there more than once."""
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]
