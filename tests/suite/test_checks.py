"""Checks have the names and limits the docs give them."""

from __future__ import annotations

import functools

import pytest

from sphynx.suite import Suite, case, command, named, suite
from sphynx.suite.checks import validate_faults


def has_route(ctx) -> bool:
    return True


async def is_quick(ctx) -> bool:
    return True


class Reads:
    def __call__(self, ctx) -> bool:
        return True

    def method(self, ctx) -> bool:
        return True


def made_with(word: str):
    def check(ctx) -> bool:
        return bool(word)

    return check


def names(*checks) -> list[str]:
    return [check.name for check in case(id="x", validate=list(checks)).checks]


def test_a_module_level_function_gives_its_name() -> None:
    """Sync or async, alone or in a list."""
    assert names(has_route, is_quick) == ["has_route", "is_quick"]
    assert [check.name for check in case(id="x", validate=has_route).checks] == ["has_route"]


def test_everything_else_is_numbered_by_its_place() -> None:
    """Nested functions, lambdas, partials, methods and objects have no name of their own."""
    part = functools.partial(has_route)
    found = names(has_route, made_with("a"), lambda ctx: True, part, Reads(), Reads().method)
    assert found == ["has_route", *(f"Validator {n}" for n in range(2, 7))]


def test_named_gives_name_and_limit() -> None:
    """``named`` names anything callable and may change the time limit."""
    checks = case(id="x", validate=[named("reads a", made_with("a"), timeout_ms=5_000), has_route]).checks
    assert [(check.index, check.name, check.timeout_ms) for check in checks] == [
        (0, "reads a", 5_000),
        (1, "has_route", 300_000),
    ]
    as_dict = case(id="x", validate=[{"name": "n", "fn": has_route}]).checks
    assert [(check.name, check.fn) for check in as_dict] == [("n", has_route)]


@pytest.mark.parametrize("name", ["", "  ", "\n", None, 3])
def test_a_named_check_needs_a_name_that_is_not_blank(name) -> None:
    """A check nobody can refer to is a problem of its case, told with the others, never an exception."""
    told = [fault.at for fault in validate_faults([named(name, has_route)])]
    assert told == ["[0]: name"]


@pytest.mark.parametrize("fn", [None, "x", command("x"), named("n", has_route), Reads])
def test_a_named_check_needs_a_function(fn) -> None:
    """Commands and named checks cannot be named, nor can a class."""
    told = [fault.at for fault in validate_faults([named("n", fn)])]
    assert told == ["[0]: fn"]


def test_a_command_may_be_a_dict() -> None:
    """``{"command": ...}`` is ``command(...)``."""
    one = case(id="x", validate={"command": "bun test", "timeout_ms": 2_000})
    assert one.command is not None
    assert (one.command.command, one.command.timeout_ms, one.checks) == ("bun test", 2_000, [])


def test_later_kinds_of_checks_are_refused_by_name() -> None:
    """An object of a kind this version cannot run is a problem, not a validator."""

    class Judge:
        sphynx_kind = "oracle"

        def __call__(self, ctx) -> bool:
            return True

    made: Suite = suite(
        id="s", prompt="p", cases=[case(id="x", validate=Judge())], variants=[{"harness": "pi", "model": "m"}]
    )
    assert [one.message for one in made.problems()] == [
        "validate must be a function, judge() or command(), not a oracle"
    ]
    assert made.cases[0].checks == []
