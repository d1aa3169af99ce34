"""``suite()``: a prompt and shared setup for many cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack, cast

from sphynx.errors import Problem
from sphynx.suite.caller import caller
from sphynx.suite.cases import Case
from sphynx.suite.fields import (
    Fault,
    Field,
    faults_in,
    flag,
    handle,
    listing,
    mapping,
    problem,
    sequence,
    show,
    text,
    whole,
)
from sphynx.suite.interfaces import Mock, mock_faults, mocks_of
from sphynx.suite.shapes import SuiteFields
from sphynx.suite.sources import Source, empty, source_faults, source_from
from sphynx.suite.variants import Variant

MOST_CASES = 100
MOST_VARIANTS = 20
MOST_TRIALS_A_BATCH = 100


def _built(builder: type, called: str) -> Any:
    def check(value: Any) -> Iterator[Fault]:
        if not isinstance(value, builder) and mapping(value) is None:
            yield Fault(f"must be {called} or a dict, not {show(value)}")

    return check


SUITE_FIELDS = (
    Field("id", "str", handle, doc="stable handle of the suite", required=True),
    Field("name", "str | None", text(low=1, high=200), doc="label of the suite", default="the id"),
    Field(
        "prompt",
        "str",
        text(high=16_384),
        doc="what the agent is asked, with {{name}} placeholders",
        required=True,
    ),
    Field("source", "SourceLike | None", source_faults, doc="the workspace of every case", default="empty"),
    Field(
        "cases",
        "Sequence[Case | CaseFields]",
        listing(_built(Case, "case()"), low=1, high=MOST_CASES, of="cases"),
        doc="1 to 100 cases",
        required=True,
    ),
    Field(
        "variants",
        "Sequence[Variant | VariantFields]",
        listing(_built(Variant, "variant()"), low=1, high=MOST_VARIANTS, of="variants"),
        doc="1 to 20 variants",
        required=True,
    ),
    Field("trials", "int", whole(1, 10), doc="attempts per case and variant", default="1"),
    Field("capture_source", "bool", flag, doc="keep the checks' source with each run", default="True"),
    Field("capture_validation", "bool", flag, doc="keep what checks read and returned", default="True"),
    Field(
        "include",
        "Sequence[str]",
        listing(text(low=1, high=512), of="paths"),
        doc="data files the checks need, from the eval file's folder; patterns work",
        default="none",
    ),
    Field(
        "mcp", "Sequence[Mock]", mock_faults("mcp"), doc="MCP servers of `sphynx.mocks.mcp`", default="none"
    ),
    Field("cli", "Sequence[Mock]", mock_faults("cli"), doc="programs of `sphynx.mocks.cli`", default="none"),
    Field("api", "Sequence[Mock]", mock_faults("api"), doc="HTTP APIs of `sphynx.mocks.api`", default="none"),
)


class Suite:
    """A prompt and shared setup for many cases; running it starts one batch.

    Attributes hold what was given, so read them only when ``problems()`` is empty. ``file`` is the absolute
    path of the file that called ``suite()``, ``line`` the line there.
    """

    __slots__ = (
        "__weakref__", "api", "capture_source", "capture_validation", "cases", "cli", "file", "given", "id",
        "include", "line", "mcp", "name", "prompt", "source", "trials", "variants",
    )  # fmt: skip

    def __init__(self, given: Mapping[str, object], file: str, line: int) -> None:
        self.given = given
        self.file = file
        self.line = line
        self.id = cast(str, given.get("id") or "")
        self.name = cast(str, given.get("name") or self.id)
        self.prompt = cast(str, given.get("prompt") or "")
        self.source: Source | None = source_from(given.get("source"))
        self.trials = cast(int, _given(given, "trials", 1))
        self.capture_source = cast(bool, _given(given, "capture_source", True))
        self.capture_validation = cast(bool, _given(given, "capture_validation", True))
        self.include = cast("list[str]", sequence(given.get("include")) or [])
        self.mcp = mocks_of(given.get("mcp"), "mcp")
        self.cli = mocks_of(given.get("cli"), "cli")
        self.api = mocks_of(given.get("api"), "api")
        self.cases: list[Case] = []
        self.variants: list[Variant] = []
        for item in sequence(given.get("cases")) or []:
            if isinstance(item, Case):
                self.cases.append(item)
            elif (fields := mapping(item)) is not None:
                self.cases.append(Case(fields, file, line))
        for item in sequence(given.get("variants")) or []:
            if isinstance(item, Variant):
                self.variants.append(item)
            elif (fields := mapping(item)) is not None:
                self.variants.append(Variant(fields, file, line))

    def __repr__(self) -> str:
        return f"suite({self.id!r})"

    @property
    def mocks(self) -> list[Mock]:
        """All its mocks."""
        return [*self.mcp, *self.cli, *self.api]

    def source_of(self, case: Case) -> Source:
        """The workspace a case starts in: its own, else the suite's, else empty."""
        return case.source or self.source or empty

    def problems(self) -> list[Problem]:
        """Everything wrong with the suite, its cases and its variants, in the order of the file."""
        found = [self._problem(fault) for fault in faults_in(SUITE_FIELDS, self.given, what="suite()")]
        for place, case in enumerate(self.cases):
            found.extend(case.problems(self._where_case(place), self.given.get("prompt")))
        for place, variant in enumerate(self.variants):
            found.extend(variant.problems(self._where_variant(place)))
        for mock in self.mocks:
            found.extend(mock.problems(self._where()))
        found.extend(self._problem(fault) for fault in (*self._repeated(), *self._too_many()))
        return found

    def warnings(self) -> list[Problem]:
        """What is allowed but hardly meant: an empty prompt, variables no placeholder uses."""
        prompt = self.given.get("prompt")
        found: list[Problem] = []
        if isinstance(prompt, str) and not prompt.strip():
            found.append(self._problem(Fault("is empty", at="prompt")))
        for place, case in enumerate(self.cases):
            found.extend(case.warnings(self._where_case(place), prompt))
        return found

    def _problem(self, fault: Fault) -> Problem:
        return problem(fault, where=self._where(), file=self.file, line=self.line)

    def _where(self) -> str:
        return f'suite "{self.id}"' if self.id else "suite without an id"

    def _where_case(self, place: int) -> str:
        case = self.cases[place]
        return f'{self._where()}, case "{case.id}"' if case.id else f"{self._where()}, case {place + 1}"

    def _where_variant(self, place: int) -> str:
        variant = self.variants[place]
        named = f" ({variant.label})" if variant.harness and variant.model else ""
        return f"{self._where()}, variant {place + 1}{named}"

    def _repeated(self) -> Iterator[Fault]:
        for places in _repeats([case.id for case in self.cases]):
            if name := self.cases[places[0]].id:
                text = f'holds the id "{name}" {len(places)} times'
                yield Fault(text, at="cases", hint="an id names one case")
        for places in _repeats([variant.identity for variant in self.variants]):
            first = self.variants[places[0]]
            if first.harness and first.model:
                # A sandbox nobody named would only puzzle.
                named = any(self.variants[place].sandbox for place in places)
                where = f" on {first.identity[2]}" if named else ""
                text = f"holds {first.label}{where} {len(places)} times"
                hint = "two variants differ in harness, model, sandbox or profile name"
                yield Fault(text, at="variants", hint=hint)

    def _too_many(self) -> Iterator[Fault]:
        trials = cast("object", self.trials)
        if not isinstance(trials, int):
            return
        cases, variants = len(self.cases), len(self.variants)
        if (total := cases * variants * trials) > MOST_TRIALS_A_BATCH:
            yield Fault(
                f"{counted(cases, 'case')} x {counted(variants, 'variant')} x {counted(trials, 'trial')} "
                f"are {total} trials, "
                f"a batch holds at most {MOST_TRIALS_A_BATCH}",
                hint="split the cases over several suites, each is a batch of its own",
            )


def suite(**fields: Unpack[SuiteFields]) -> Suite:
    """A prompt and shared setup for many cases. Never raises: what is wrong is in ``Suite.problems()``."""
    return Suite(cast("Mapping[str, object]", fields), *caller())


def counted(number: int, word: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _given(given: Mapping[str, object], name: str, default: object) -> object:
    value = given.get(name)
    return default if value is None else value


def _repeats(values: Sequence[object]) -> Iterator[list[int]]:
    """The places of every value that is there more than once; wrong values need not be hashable."""
    places: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        places.setdefault(repr(value), []).append(place)
    yield from (found for found in places.values() if len(found) > 1)
