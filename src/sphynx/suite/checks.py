"""How a trial passes: functions, named functions and model judges, or one shell command."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from sphynx.suite.context import Validator
from sphynx.suite.fields import Fault, Field, faults_in, mapping, of_context, sequence, show, text, whole
from sphynx.suite.judges import JudgeForm, JudgeSpec, is_judge, judge_faults, repeated_names

COMMAND_TIMEOUT_MS = 600_000
VALIDATOR_TIMEOUT_MS = 300_000
MOST_CHECKS = 20

_TIMEOUT = whole(1_000, 3_600_000)
COMMAND_FIELDS = (
    Field("command", "str", text(low=1, high=8_192), doc="run with bash in the workspace", required=True),
    Field("timeout_ms", "int | None", _TIMEOUT, doc="its time limit", default=f"{COMMAND_TIMEOUT_MS}"),
)
NAMED_FIELDS = (
    Field("name", "str", text(low=1, high=200), doc="what the check is called", required=True),
    Field("fn", "Validator", of_context, doc="the validator", required=True),
    Field("timeout_ms", "int | None", _TIMEOUT, doc="its time limit", default=f"{VALIDATOR_TIMEOUT_MS}"),
)


class Command:
    """A shell command that passes the trial when it exits 0; ``timeout_ms`` is its limit."""

    __slots__ = ("command", "given", "timeout_ms")
    sphynx_kind = "command"

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.command = cast(str, given.get("command", ""))
        self.timeout_ms = cast("int | None", given.get("timeout_ms")) or COMMAND_TIMEOUT_MS

    def __repr__(self) -> str:
        return f"command({show(self.command)})"


class Named:
    """A validator with a name of its own."""

    __slots__ = ("fn", "given", "name", "timeout_ms")
    sphynx_kind = "named"

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = given
        self.name = cast(str, given.get("name"))
        self.fn = cast("Validator", given.get("fn"))
        self.timeout_ms = cast("int | None", given.get("timeout_ms")) or VALIDATOR_TIMEOUT_MS

    def __repr__(self) -> str:
        return f"named({self.name!r})"


class Check:
    """One code validator of a case. ``index`` is its place among them, from 0; ``timeout_ms`` its limit."""

    __slots__ = ("fn", "index", "name", "timeout_ms")

    def __init__(self, index: int, name: str, fn: Callable[[Any], Any], timeout_ms: int) -> None:
        self.index = index
        self.name = name
        self.fn = fn
        self.timeout_ms = timeout_ms

    def __repr__(self) -> str:
        return f"Check({self.index}, {self.name!r})"


def command(command: str, *, timeout_ms: int | None = None) -> Command:
    """Pass the trial when ``command`` exits 0: run with bash in the workspace, 600,000 ms unless changed."""
    return Command({"command": command, "timeout_ms": timeout_ms})


def named(name: str, fn: Validator, *, timeout_ms: int | None = None) -> Named:
    """Give a validator a name, and a time limit other than 300,000 ms.

    A blank name or something that is no validator is told with the other problems of its suite.
    """
    return Named({"name": name, "fn": fn, "timeout_ms": timeout_ms})


def check_name(fn: object, index: int) -> str:
    """A module-level function's own name, a ready-made check's ``sphynx_name``, else ``Validator N``."""
    own = getattr(fn, "sphynx_name", None)
    if isinstance(own, str):
        return own[:200]
    if isinstance(fn, types.FunctionType) and fn.__qualname__ == fn.__name__ != "<lambda>":
        return fn.__name__[:200]
    return f"Validator {index + 1}"


def plain_form(value: object) -> object:
    """A dict form of ``command()``, ``named()`` or ``judge()`` as the object; everything else as it is."""
    items = mapping(value)
    if items is None:
        return value
    if "command" in items:
        return Command(items)
    if "choices" in items:
        return JudgeForm(items)
    return Named(items) if "fn" in items else value


def parts(validate: object) -> list[object]:
    """The entries of ``validate``, dict forms made objects; one entry when it is no list."""
    items = sequence(validate)
    return [plain_form(item) for item in ([validate] if items is None else items)]


def command_of(validate: object) -> Command | None:
    """The ``command()`` of a case, when that is how it passes."""
    only = parts(validate)
    return only[0] if len(only) == 1 and isinstance(only[0], Command) else None


def checks_of(validate: object) -> list[Check]:
    """The code validators of a case, in order."""
    found: list[Check] = []
    for part in parts(validate):
        index = len(found)
        if isinstance(part, Named):
            found.append(Check(index, part.name, part.fn, part.timeout_ms))
        elif is_validator(part):
            fn = cast("Callable[[Any], Any]", part)
            found.append(Check(index, check_name(part, index), fn, VALIDATOR_TIMEOUT_MS))
    return found


def judges_of(validate: object) -> list[JudgeSpec]:
    """The model judges of a case, in order."""
    found = [cast("Mapping[str, Any]", cast(Any, part).given) for part in parts(validate) if is_judge(part)]
    return [JudgeSpec(index, given) for index, given in enumerate(found)]


def is_validator(value: object) -> bool:
    """A plain function or callable object that is a code check."""
    return callable(value) and not isinstance(value, type) and not hasattr(value, "sphynx_kind")


def validate_faults(value: Any) -> Iterator[Fault]:
    """What is wrong with a value of the field ``validate``."""
    items = sequence(value)
    if items is None:
        yield from _part_faults(plain_form(value))
        return
    if not items:
        yield Fault("must hold at least one check", hint='a function, or command("...")')
    if len(items) > MOST_CHECKS:
        yield Fault(f"must hold at most {MOST_CHECKS} checks, there are {len(items)}")
    yield from repeated_names(judges_of(value))
    for index, item in enumerate(parts(items)):
        at = f"[{index}]"
        if isinstance(item, Command):
            hint = "put the command alone, or run it inside a validator with ctx.exec"
            yield Fault("is a command(), which cannot go in a list", at=at, hint=hint)
            continue
        for fault in _part_faults(item):
            yield fault.under(at)


def _part_faults(part: object) -> Iterator[Fault]:
    if isinstance(part, Command):
        for fault in faults_in(COMMAND_FIELDS, part.given, what="command()"):
            yield fault.under(": ") if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)
    elif isinstance(part, Named):
        for fault in faults_in(NAMED_FIELDS, part.given, what="named()"):
            yield fault.under(": ") if fault.at else Fault(f"has an {fault.text}", hint=fault.hint)
    elif is_judge(part):
        yield from judge_faults(cast(Any, part).given)
    elif not is_validator(part):
        hint = f"command({show(part)})" if isinstance(part, str) else None
        yield Fault(f"must be a function, judge() or command(), not {_what(part)}", hint=hint)
    else:
        yield from of_context(part)


def _what(part: object) -> str:
    kind = getattr(part, "sphynx_kind", None)
    if kind is not None and not isinstance(part, type):
        return f"a {kind}"
    return show(part)
