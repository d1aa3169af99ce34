"""``case()``: one eval of a suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Unpack, cast

from sphynx.errors import Problem
from sphynx.suite import placeholders
from sphynx.suite.caller import caller
from sphynx.suite.checks import Check, Command, checks_of, command_of, judges_of, validate_faults
from sphynx.suite.context import Prepare, Solution
from sphynx.suite.fields import (
    Fault,
    Field,
    faults_in,
    handle,
    listing,
    mapping,
    nearest,
    of_context,
    problem,
    record,
    sequence,
    show,
    table_of,
    text,
    whole,
)
from sphynx.suite.interfaces import fixture_faults
from sphynx.suite.judges import JudgeSpec
from sphynx.suite.paths import cache_path
from sphynx.suite.people import User, user_faults, user_from
from sphynx.suite.shapes import CacheFields, CaseFields
from sphynx.suite.sources import Source, source_faults, source_from

DEFAULT_MAX_TURNS = 8
DEFAULT_TIMEOUT_MS = 900_000

CACHE_FIELDS = (
    Field("key", "str", text(low=1), doc="change it to start over", required=True),
    Field("path", "str", cache_path, doc="a folder inside the workspace", required=True),
)


def _solution(value: Any) -> Iterator[Fault]:
    if callable(value):
        yield from of_context(value)
    elif isinstance(value, str):
        yield from text(low=1, high=8_192)(value)
    else:
        yield Fault(f"must be a shell command or a function, not {show(value)}")


CASE_FIELDS = (
    Field("id", "str", handle, doc="stable handle the case's history is kept under", required=True),
    Field("name", "str | None", text(high=200), doc="label of the case's row", default="the id"),
    Field(
        "variables",
        "Mapping[str, str]",
        table_of(text(high=2_048), of="texts"),
        doc="values for the prompt's {{name}} placeholders",
        default="none",
    ),
    Field("source", "SourceLike | None", source_faults, doc="its workspace", default="the suite's"),
    Field("prepare", "Prepare | None", of_context, doc="setup that runs before the agent"),
    Field(
        "cache",
        "CacheFields | None",
        record(CACHE_FIELDS, what="a cache"),
        doc="one prepared folder to restore and save: a dict with key and path",
    ),
    Field(
        "tags",
        "Sequence[str]",
        listing(text(low=1, high=40), high=12, of="texts"),
        doc="up to 12 labels of 1 to 40 characters to group and filter by",
        default="none",
    ),
    Field("user", "UserLike | None", user_faults, doc="makes the case a conversation"),
    Field(
        "max_turns",
        "int | None",
        whole(1, 50),
        doc="most turns of a conversation, the opening included",
        default=f"{DEFAULT_MAX_TURNS}",
    ),
    Field(
        "timeout_ms",
        "int | None",
        whole(1_000, 3_600_000),
        doc="how long the agent may work across the trial",
        default=f"{DEFAULT_TIMEOUT_MS}",
    ),
    Field(
        "validate",
        "Validate",
        validate_faults,
        doc='how a trial passes: a function, a judge(), command("..."), or up to 20 of both in a list',
        required=True,
    ),
    Field("solution", "str | Solution | None", _solution, doc="a reference solution, run by --self-test"),
    Field(
        "fixtures",
        "Mapping[str, Any] | None",
        fixture_faults,
        doc="what the mocks' `ctx.state` holds when a trial of this case begins",
    ),
)


class Case:
    """One eval. Attributes hold what was given, so read them only when ``Suite.problems()`` is empty.

    ``source``, ``max_turns`` and ``timeout_ms`` are ``None`` when not given; the ``effective_`` ones are what
    counts. ``checks`` are the code validators in order, ``judges`` the model judges, ``command`` the shell
    command instead of them.
    """

    __slots__ = (
        "cache", "checks", "command", "file", "fixtures", "given", "id", "judges", "line", "max_turns",
        "name", "prepare", "solution", "source", "tags", "timeout_ms", "user", "validate", "variables",
    )  # fmt: skip

    def __init__(self, given: Mapping[str, object], file: str, line: int) -> None:
        self.given = given
        self.file = file
        self.line = line
        self.id = cast(str, given.get("id") or "")
        self.name = cast(str, given.get("name") or self.id)
        self.variables = cast("dict[str, str]", mapping(given.get("variables")) or {})
        self.source: Source | None = source_from(given.get("source"))
        self.prepare = cast("Prepare | None", given.get("prepare"))
        self.cache = cast("CacheFields | None", mapping(given.get("cache")))
        self.tags = cast("list[str]", sequence(given.get("tags")) or [])
        self.user: User | None = user_from(given.get("user"))
        self.max_turns = cast("int | None", given.get("max_turns"))
        self.timeout_ms = cast("int | None", given.get("timeout_ms"))
        self.validate: Any = given.get("validate")
        self.solution = cast("str | Solution | None", given.get("solution"))
        self.fixtures = mapping(given.get("fixtures")) or {}
        self.command: Command | None = command_of(self.validate)
        self.checks: list[Check] = checks_of(self.validate)
        self.judges: list[JudgeSpec] = judges_of(self.validate)

    def __repr__(self) -> str:
        return f"case({self.id!r})"

    @property
    def effective_max_turns(self) -> int:
        """Most turns a conversation may hold, the opening prompt included."""
        return DEFAULT_MAX_TURNS if self.max_turns is None else self.max_turns

    @property
    def effective_timeout_ms(self) -> int:
        """How long the agent may work across the trial's turns."""
        return DEFAULT_TIMEOUT_MS if self.timeout_ms is None else self.timeout_ms

    def problems(self, where: str, prompt: object) -> Iterator[Problem]:
        """Everything wrong with this case; ``where`` names it, ``prompt`` is the suite's."""
        for fault in (*faults_in(CASE_FIELDS, self.given, what="case()"), *self._unfilled(prompt)):
            yield problem(fault, where=where, file=self.file, line=self.line)

    def warnings(self, where: str, prompt: object) -> Iterator[Problem]:
        """What is allowed but hardly meant: variables the prompt never uses."""
        used = placeholders.names(prompt) if isinstance(prompt, str) else self.variables
        for name in [name for name in self.variables if name not in used]:
            fault = Fault(
                "is not used by the prompt", at=f'variables["{name}"]', hint=f"{{{{{name}}}}} uses it"
            )
            yield problem(fault, where=where, file=self.file, line=self.line)

    def _unfilled(self, prompt: object) -> Iterator[Fault]:
        asked = placeholders.names(prompt) if isinstance(prompt, str) else []
        for name in [name for name in asked if name not in self.variables]:
            near = nearest(name, self.variables)
            hint = f'did you mean "{near}"?' if near else r"\{{ writes literal braces"
            yield Fault(f'has no value for "{name}", which the prompt uses', at="variables", hint=hint)


def case(**fields: Unpack[CaseFields]) -> Case:
    """One eval of a suite. Never raises: what is wrong is in ``Suite.problems()``."""
    return Case(cast("Mapping[str, object]", fields), *caller())
