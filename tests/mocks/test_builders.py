"""Builders of mocks never raise: what is wrong is told with the suite's problems, with its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sphynx import case, suite, variant
from sphynx.mocks.api import api, endpoint
from sphynx.mocks.cli import cli, command, kebab
from sphynx.mocks.mcp import resource, server, tool


class Wanted(msgspec.Struct):
    id: str


class Flags(msgspec.Struct):
    all: bool


def handler(value: Any) -> Any:
    return value


GOOD_TOOL = tool(name="get", input_schema=Wanted, handler=handler)


def texts(**mocks: Any) -> list[str]:
    made = suite(
        id="one", prompt="p", cases=[case(id="c", validate=handler)],
        variants=[variant(harness="nop", model="m")], **mocks,
    )  # fmt: skip
    return [problem.text().removeprefix(f"{__file__}: ") for problem in made.problems()]


def test_good_mocks_are_no_problem() -> None:
    assert texts(
        mcp=[server(name="users", tools=[GOOD_TOOL], resources=[
            resource(name="r", uri="users://current", handler=lambda: 1)])],
        cli=[cli(path="users", commands=[command(path=["get"], input_schema=Wanted, options={"id": {}},
                                                 handler=handler)])],
        api=[api(name="users", endpoints=[endpoint(method="GET", path="/", responses={204: None},
                                                   handler=handler)])],
    ) == []  # fmt: skip


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: server(name="a b", tools=[GOOD_TOOL]), 'server("a b"): name has a form that is not allowed'),
        (lambda: server(name="a"), 'server("a"): tools and resources are empty'),
        (lambda: server(name="a", tools=[1]), "tools must hold only tool(...), not int"),
        (lambda: server(name="a", toolz=[GOOD_TOOL]), 'unknown field "toolz"'),
        (lambda: server(name="a", tools=[GOOD_TOOL, GOOD_TOOL]), 'tools holds "get" more than once'),
        (lambda: server(tools=[GOOD_TOOL]), "server(): name is missing"),
        (lambda: server(name="a", tools=[tool(name="t")]), 'server("a"), tool("t"): handler is missing'),
        (
            lambda: server(name="a", tools=[tool(name="t", input_schema=int, handler=handler)]),
            "input_schema must describe an object",
        ),
        (
            lambda: server(name="a", tools=[tool(name="t", output_schema=7, handler=handler)]),
            'tool("t"): output_schema cannot be used: 7 is no schema',
        ),
        (
            lambda: server(name="a", resources=[resource(name="r", uri="users", handler=handler)]),
            'resource("r"): uri has a form that is not allowed: "users"',
        ),
    ],
)
def test_problems_of_servers(made: Any, said: str) -> None:
    found = texts(mcp=[made()])
    assert any(said in text for text in found), found
    assert all(text.startswith('suite "one"') for text in found)


def test_problems_know_their_line() -> None:
    made = suite(
        id="one", prompt="p", cases=[case(id="c", validate=handler)],
        variants=[variant(harness="nop", model="m")],
        mcp=[server(name="a")],
    )  # fmt: skip
    (problem,) = made.problems()
    assert problem.file == __file__
    with open(__file__) as source:
        assert "server(name=" in source.read().splitlines()[problem.line - 1]


def one_command(**fields: Any) -> Any:
    return cli(path="users", commands=[command(**{"path": ["get"], "handler": handler, **fields})])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: cli(path="a/b", commands=[]), "path has a form that is not allowed"),
        (lambda: cli(path="a", commands=[]), "commands must hold at least one command(...)"),
        (lambda: one_command(path=[]), "path must hold at least one word"),
        (lambda: one_command(path=["--get"]), 'path holds "--get", which is no word'),
        (lambda: one_command(input_schema=Wanted), 'options has no entry for the input key "id"'),
        (
            lambda: one_command(input_schema=Wanted, options={"id": {}, "x": {}}),
            'options has "x", which the input does not have',
        ),
        (
            lambda: one_command(input_schema=Wanted, options={"id": {"name": "id"}}),
            'options ["id"] is the flag id, which must be --',
        ),
        (
            lambda: one_command(input_schema=Wanted, options={"id": {"kind": "string"}}),
            'options ["id"] has an unknown field "kind"',
        ),
        (lambda: one_command(options={"help": {}}), "--help, which every command has"),
        (
            lambda: one_command(input_schema=Flags, options={"all": {"type": "boolean"}}),
            'options ["all"] is boolean, but the input requires it',
        ),
    ],
)
def test_problems_of_programs(made: Any, said: str) -> None:
    found = texts(cli=[made()])
    assert any(said in text for text in found), found


def one_endpoint(**fields: Any) -> Any:
    given = {"method": "GET", "path": "/a", "responses": {200: Wanted}, "handler": handler, **fields}
    return api(name="catalog", endpoints=[endpoint(**given)])


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: one_endpoint(method="FETCH"), "method must be one of GET"),
        (lambda: one_endpoint(path="items"), "path has a form that is not allowed"),
        (lambda: one_endpoint(path="/a/:id/:id"), "path must name each :part once"),
        (lambda: one_endpoint(responses={}), "responses must hold at least one status"),
        (lambda: one_endpoint(responses={"200": Wanted}), "responses has the key '200'"),
        (lambda: one_endpoint(responses={200: 3}), "responses [200] cannot be used: 3 is no schema"),
        (lambda: api(name="Catalog", endpoints=[]), "name has a form that is not allowed"),
        (lambda: api(name="a", redact="token", endpoints=[]), "redact must be a list of texts"),
    ],
)
def test_problems_of_apis(made: Any, said: str) -> None:
    found = texts(api=[made()])
    assert any(said in text for text in found), found


def test_fields_of_a_suite_hold_mocks_of_their_kind_with_names_of_their_own() -> None:
    a, b = server(name="a", tools=[GOOD_TOOL]), server(name="a", tools=[GOOD_TOOL])
    assert texts(mcp=[a, b]) == ['suite "one": mcp holds "a" 2 times']
    assert texts(cli=[a]) == ['suite "one": cli[0] must be cli(), not Server']
    assert texts(api=a) == ['suite "one": api must be a list of api(), not Server']


@pytest.mark.parametrize("fixtures", [3, {"a": object()}, {"a": "x" * 300_000}])
def test_fixtures_are_json_and_not_endless(fixtures: Any) -> None:
    made = case(id="c", validate=handler, fixtures=fixtures)
    (problem,) = made.problems("here", "p")
    assert problem.message.startswith("fixtures must be")


@pytest.mark.parametrize(
    ("key", "flag"),
    [("id", "id"), ("userId", "user-id"), ("user_id", "user-id"), ("sortBy2", "sort-by2"), ("aBC", "a-bc")],
)
def test_flags_are_keys_in_kebab_case(key: str, flag: str) -> None:
    assert kebab(key) == flag
