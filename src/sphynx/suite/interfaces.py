"""The mocks of a suite, as far as a suite knows them: by their ``sphynx_kind`` and what they say is wrong.

They are made in ``sphynx.mocks``, which this room cannot import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from sphynx.errors import Problem
from sphynx.suite.fields import Check, Fault, mapping, sequence, show

BUILDERS = {"mcp": "server()", "cli": "cli()", "api": "api()"}
MOST_FIXTURES = 256_000
"""Characters of a case's fixtures as JSON."""


class Mock(Protocol):
    """An MCP server, a CLI or an HTTP API that exists only inside a trial: what ``sphynx.mocks`` makes."""

    @property
    def sphynx_kind(self) -> str: ...
    @property
    def label(self) -> str: ...
    def parts(self) -> Sequence[Any]: ...
    def problems(self, where: str = "") -> Iterator[Problem]: ...


def mocks_of(value: object, kind: str) -> list[Mock]:
    """The mocks of one kind in a field's value; what is none is left to the field's check."""
    items = sequence(value) or []
    return [cast("Mock", item) for item in items if getattr(item, "sphynx_kind", None) == kind]


def mock_faults(kind: str) -> Check:
    """Checks the field ``kind``: a list of mocks of that kind, each with a name of its own."""

    def check(value: Any) -> Iterator[Fault]:
        items = sequence(value)
        if items is None:
            yield Fault(f"must be a list of {BUILDERS[kind]}, not {show(value)}")
            return
        for index, item in enumerate(items):
            if getattr(item, "sphynx_kind", None) != kind:
                hint = f"from sphynx.mocks.{kind} import {BUILDERS[kind][:-2]}"
                yield Fault(f"must be {BUILDERS[kind]}, not {show(item)}", at=f"[{index}]", hint=hint)
        names = [mock.label for mock in mocks_of(value, kind)]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                yield Fault(f'holds "{name}" {names.count(name)} times', hint="a name is one mock")

    return check


def fixture_faults(value: Any) -> Iterator[Fault]:
    """What is wrong with a case's fixtures: they must be a dict that JSON can hold."""
    import json

    items = mapping(value)
    if items is None:
        yield Fault(f"must be a dict, not {show(value)}")
        return
    try:
        size = len(json.dumps(cast("Mapping[str, Any]", value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        yield Fault(f"must be a dict that JSON can hold: {error}")
        return
    if size > MOST_FIXTURES:
        yield Fault(f"must be at most {MOST_FIXTURES:,} characters of JSON, these are {size:,}")
