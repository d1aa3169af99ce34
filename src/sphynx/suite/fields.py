"""The field tables: what a builder's fields may hold, and what is said when they do not.

A table is a tuple of :class:`Field`. It is the only place where a field's type, default, limits and
meaning are written down: :func:`faults_in` checks with it, the reference is generated from it, and a test
compares it with the ``TypedDict`` an editor completes from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from sphynx.errors import Problem

# Patterns are compiled when first used: at import they would cost a millisecond each.
_HANDLE = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_URL_LOGIN = r"(://[^/\s:@]*:)[^/\s@]+@"


class Fault:
    """One thing wrong with a value. ``at`` is where: a field, or a place in it (``["task"]``, ``[2]``)."""

    __slots__ = ("at", "hint", "text")

    def __init__(self, text: str, *, at: str = "", hint: str | None = None) -> None:
        self.text = text
        self.at = at
        self.hint = hint

    def under(self, at: str) -> Fault:
        """The same fault seen from one level further out."""
        return Fault(self.text, at=at + self.at, hint=self.hint)


Check: TypeAlias = Callable[[Any], Iterable[Fault]]


class Field:
    """One field of a builder.

    ``type`` is the annotation as the ``TypedDict`` spells it, ``default`` the effective default as text for
    the reference, ``check`` yields what is wrong with a given value. ``None`` means "not given" unless the
    field is required.
    """

    __slots__ = ("check", "default", "doc", "name", "required", "type")

    def __init__(
        self, name: str, type: str, check: Check, *, doc: str, required: bool = False, default: str = ""
    ) -> None:
        self.name = name
        self.type = type
        self.check = check
        self.doc = doc
        self.required = required
        self.default = default


def faults_in(table: Sequence[Field], given: Mapping[str, object], *, what: str) -> Iterator[Fault]:
    """Everything wrong with ``given``: unknown keys, missing ones, wrong values. ``what`` is the builder."""
    known = {field.name: field for field in table}
    for key in given:
        if key not in known:
            near = nearest(str(key), known)
            hint = f'did you mean "{near}"?' if near else f"{what} has: " + ", ".join(known)
            yield Fault(f'unknown field "{key}"', hint=hint)
    for field in table:
        value = given.get(field.name)
        if value is None:
            if field.required:
                yield Fault("is missing", at=field.name, hint=field.doc)
            continue
        for fault in field.check(value):
            yield fault.under(field.name)


def problem(fault: Fault, *, where: str, file: str, line: int) -> Problem:
    """A fault with its place, for people."""
    message = f"{fault.at} {fault.text}" if fault.at else fault.text
    return Problem(message, where=where, file=file, line=line, hint=fault.hint)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name a mistyped one most likely stands for."""
    from difflib import get_close_matches

    lowered = {known.lower(): known for known in names}
    found = get_close_matches(name.lower().replace("-", "_"), lowered, n=1, cutoff=0.6)
    if not found:
        found = get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    return lowered[found[0]] if found else None


def units(text: str) -> int:
    """The length of ``text`` in UTF-16 units, as the wire counts."""
    return len(text) + sum(1 for char in text if char > "\uffff")


def is_plain(text: str) -> bool:
    """Whether ``text`` can be a process's variable or a UTF-8 file: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)


def show(value: object) -> str:
    """A value in an error: short, on one line, with its type unless it is text, without URL passwords."""
    if isinstance(value, str):
        text = '"' + "".join(char if char.isprintable() else ascii(char)[1:-1] for char in value) + '"'
    elif isinstance(value, (bool, int, float)) or value is None:
        text = repr(value)
    elif isinstance(value, (list, tuple, dict, set)):
        size = len(cast("list[object]", value))
        text = f"a {type(cast('object', value)).__name__} of {size}"
    elif isinstance(value, type):
        text = f"the class {value.__name__}"
    elif callable(value):
        text = f"the function {getattr(value, '__name__', type(value).__name__)}"
    else:
        text = type(value).__name__
    text = re.sub(_URL_LOGIN, r"\1...@", text)
    return text if len(text) <= 80 else text[:76] + '..."'


def text(*, low: int = 0, high: int | None = None) -> Check:
    """Text of ``low`` to ``high`` UTF-16 units; with ``low`` at least one, blank text is refused too."""

    def check(value: Any) -> Iterator[Fault]:
        if not isinstance(value, str):
            yield Fault(f"must be text, not {show(value)}")
        elif low and not value.strip():
            yield Fault("must not be blank")
        elif not is_plain(value):
            yield Fault("must be valid Unicode without NUL characters")
        elif high is not None and units(value) > high:
            yield Fault(f"must be at most {high:,} characters, this one has {units(value):,}")

    return check


def handle(value: Any) -> Iterator[Fault]:
    """A suite's or case's id."""
    if not isinstance(value, str):
        yield Fault(f"must be text, not {show(value)}")
    elif len(value) > 100 or not re.fullmatch(_HANDLE, value):
        suggestion = re.sub(r"[^a-z0-9]+", "-", value.lower()).strip("-")[:100].rstrip("-")
        yield Fault(
            f"must be lowercase letters, digits and single hyphens, at most 100, not {show(value)}",
            hint=f'for example "{suggestion}"' if suggestion else None,
        )


def whole(low: int, high: int) -> Check:
    """A whole number from ``low`` to ``high``."""

    def check(value: Any) -> Iterator[Fault]:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            yield Fault(f"must be a whole number from {low:,} to {high:,}, not {show(value)}")

    return check


def flag(value: Any) -> Iterator[Fault]:
    """``True`` or ``False``."""
    if not isinstance(value, bool):
        yield Fault(f"must be True or False, not {show(value)}")


def sequence(value: object) -> list[object] | None:
    """The items of a list or tuple; ``None`` for anything else (text and generators included)."""
    return list(cast("Sequence[object]", value)) if isinstance(value, (list, tuple)) else None


def listing(each: Check, *, low: int = 0, high: int | None = None, of: str = "values") -> Check:
    """A list of ``low`` to ``high`` items, each checked by ``each``."""

    def check(value: Any) -> Iterator[Fault]:
        items = sequence(value)
        if items is None:
            yield Fault(f"must be a list of {of}, not {show(value)}")
            return
        if len(items) < low:
            yield Fault(f"must hold at least {low}")
        if high is not None and len(items) > high:
            yield Fault(f"must hold at most {high}, there are {len(items)}")
        for index, item in enumerate(items):
            for fault in each(item):
                yield fault.under(f"[{index}]")

    return check


def mapping(value: object) -> dict[str, object] | None:
    """``value`` as a dict with text keys; ``None`` when it is no mapping."""
    if not isinstance(value, Mapping):
        return None
    return {str(key): item for key, item in cast("Mapping[object, object]", value).items()}


def table_of(each: Check, *, of: str) -> Check:
    """A dict from names to values, each value checked by ``each``."""

    def check(value: Any) -> Iterator[Fault]:
        items = mapping(value)
        if items is None:
            yield Fault(f"must be a dict of {of}, not {show(value)}")
            return
        for key, item in items.items():
            for fault in each(item):
                yield fault.under(f'["{key}"]')

    return check


def record(table: Sequence[Field], *, what: str) -> Check:
    """A dict whose keys are the fields of ``table``."""

    def check(value: Any) -> Iterator[Fault]:
        items = mapping(value)
        if items is None:
            yield Fault(f"must be a dict, not {show(value)}")
            return
        for fault in faults_in(table, items, what=what):
            yield fault.under(".") if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)

    return check


def function(value: Any) -> Iterator[Fault]:
    """A function, method or callable object; a class is not one."""
    if not callable(value) or isinstance(value, type):
        yield Fault(f"must be a function, not {show(cast('object', value))}")


def of_context(value: Any) -> Iterator[Fault]:
    """A function that can be called with one argument, the context."""
    wrong = next(iter(function(value)), None)
    if wrong is not None:
        yield wrong
        return
    import inspect

    try:
        taken = inspect.signature(value)
    except (TypeError, ValueError):
        return  # a callable that does not say what it takes
    try:
        taken.bind(None)
    except TypeError:
        name = getattr(value, "__name__", type(value).__name__)
        yield Fault(f"must take one argument, the context; {name}{taken} does not")
