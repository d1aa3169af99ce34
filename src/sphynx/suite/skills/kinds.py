"""The kinds of mechanical criteria people write, and what each asks for."""

# pyright: basic
# The values are other people's JSON: their types are looked at where they are used.
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sphynx.suite.skills.model import Part, texts_of

LITERALS = (
    "needles",
    "needle",
    "values",
    "value",
    "expected",
    "contains",
    "substring",
    "includes",
    "text_contains",
)
PATTERNS = ("patterns", "pattern", "regex")
PATHS = ("path", "file", "files", "paths")

_TEXT_KINDS = {
    "any": ("contains_any", "includes_any", "content_contains_any", "content_includes_any"),
    "all": (
        "contains", "contains_all", "includes", "includes_all", "content_contains", "content_contains_all",
        "content_includes", "content_includes_all", "string_match", "string_contains", "substring",
    ),
    "none": (
        "not_contains", "contains_none", "excludes", "content_not_contains", "content_contains_none",
        "content_excludes", "not_includes",
    ),
    "regex_any": ("regex", "regex_match", "regex_includes", "matches", "matches_any", "content_matches"),
    "regex_all": ("matches_all", "regex_all"),
    "regex_none": ("regex_excludes", "not_matches", "regex_not_match", "content_not_matches"),
    "ordered": ("ordered_content", "contains_in_order"),
    "count": ("content_count",),
}  # fmt: skip
_ACTION_KINDS = {
    "tool": ("tool_use", "tool_used", "tool_called"),
    "no_tool": ("tool_not_used", "tool_not_called"),
    "command": ("command_ran", "command_run"),
    "no_command": ("command_not_ran", "command_not_run"),
    "exists": ("file_exists", "files_exist"),
    "missing": ("file_not_exists", "files_not_exist"),
}
_OPS = {kind: op for table in (_TEXT_KINDS, _ACTION_KINDS) for op, kinds in table.items() for kind in kinds}
_PLACES = (("code_", "files"), ("behavior_", "transcript"), ("behaviour_", "transcript"), ("file_", "file"))
_WITHOUT_OPERAND = frozenset(
    {
        "semantic", "string_match", "process_check", "content_check", "structure_check", "quality_check",
        "llm", "judge", "prose", "manual", "quality", "behavior", "format", "process",
    }
)  # fmt: skip
_REGEX_OF = {"any": "regex_any", "all": "regex_any", "none": "regex_none", "count": "count_regex"}


class BadOperand(Exception):
    """A criterion that is mechanical but wrong, such as a broken regular expression."""


def normal(kind: Any) -> str:
    """A kind's name in one spelling; empty when it is not text."""
    return re.sub(r"[\s-]+", "_", kind.strip().lower()) if isinstance(kind, str) else ""


def is_known(kind: str) -> bool:
    """Whether this is a kind of criterion, with or without an operand."""
    return bool(_op_of(kind)[0]) or kind in _WITHOUT_OPERAND


def is_operators(value: Any) -> bool:
    """Whether ``value`` is an object of operators, as in ``{"contains_any": [...]}``."""
    return isinstance(value, dict) and any(_op_of(normal(key))[0] for key in value)


def parts_of(kind: str, fields: Mapping[str, Any]) -> tuple[Part, ...]:
    """What a criterion of this kind demands; empty when it has no operand. ``BadOperand`` names the fault."""
    op, where = _op_of(kind)
    if not op:
        return ()
    if op in ("exists", "missing"):
        paths = _first(fields, (*PATHS, "value", "values"))
        return (Part(op, paths, "file"),) if paths else ()
    if op in ("tool", "no_tool", "command", "no_command"):
        values = _first(fields, ("tool", "tools", "command", *LITERALS, *PATTERNS))
        return (Part(op, values, "transcript"),) if values else ()
    path = next(iter(_first(fields, ("path", "file"))), "")
    place = "file" if path else "files" if where == "file" else where
    return _text_part(op, place, path, fields)


def parts_of_operators(operators: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[Part, ...]:
    """The demands of an operator object; ``fields`` is the criterion around it."""
    found: list[Part] = []
    for key, value in operators.items():
        kind = normal(key)
        around = {name: fields[name] for name in ("path", "file") if name in fields}
        for operand in _operands(kind, value):
            found += parts_of(kind, {**around, **operand})
    return tuple(found)


def command_parts(fields: Mapping[str, Any]) -> tuple[Part, ...]:
    """A criterion that runs a command of its own: ``cmd`` with ``expect_exit`` and ``expect_substring``."""
    command = fields.get("cmd")
    if not isinstance(command, str) or not command.strip():
        return ()
    status = fields.get("expect_exit")
    wanted = texts_of(fields.get("expect_substring"))
    return (Part("run", (command, *wanted), status=status if type(status) is int else 0),)


def _operands(kind: str, value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield from value
    elif kind.startswith("file_") and "contains" in kind and isinstance(value, list) and len(value) > 1:
        yield {"path": value[0], "values": value[1:]}
    else:
        yield {"values": value}


def _op_of(kind: str) -> tuple[str, str]:
    """The operation of a kind and where it looks."""
    if kind in _OPS:
        op = _OPS[kind]
        return op, "file" if op in ("exists", "missing") else "answer"
    for prefix, where in _PLACES:
        if kind.startswith(prefix):
            rest = kind.removeprefix(prefix)
            op = "count" if rest == "count" else _OPS.get(rest, "")
            return (op, where) if op in _TEXT_KINDS else ("", "")
    return "", ""


def _text_part(op: str, where: str, path: str, fields: Mapping[str, Any]) -> tuple[Part, ...]:
    patterns = _first(fields, PATTERNS)
    check = fields.get("check")
    names = (*LITERALS, "check") if isinstance(check, (str, list)) else LITERALS
    values = _first(fields, names)
    if patterns and not op.startswith("regex"):
        op, values = _REGEX_OF.get(op, op), patterns
    elif op.startswith("regex"):
        values = patterns or values
    if not values:
        return ()
    if "regex" in op:
        for value in values:
            _compiled(value)
    low, high = fields.get("min_count", fields.get("count")), fields.get("max_count")
    return (
        Part(
            op, values, where, path,
            low if type(low) is int else 0 if type(high) is int else 1,
            high if type(high) is int else None,
        ),
    )  # fmt: skip


def _compiled(pattern: str) -> None:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadOperand(f"the regular expression {pattern!r} is broken: {error}") from None


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    """The first of these fields that holds texts."""
    read: Callable[[Any], tuple[str, ...]] = texts_of
    return next((found for name in names if (found := read(fields.get(name)))), ())
