"""A suite with mocks on its way to a server of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project
from sphynx.compiler import compile_eval
from sphynx.errors import CompileError

SUITE = """
from sphynx.mocks.cli import cli, command

one = cli(path="one", commands=[command(path=["go"], handler=lambda: 1)])
made = suite(id="made", prompt="p", cli=[one], variants=[variant(harness="codex", model="m")],
             cases=[case(id="c", fixtures={"a": 1}, validate=VALIDATE)])
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_names_of_mocks_and_fixtures_travel_beside_the_wire(project: Project) -> None:
    """What they do travels in the bundle of the checks; a server that knows neither is refused by name."""
    file = project.suite(SUITE.replace("VALIDATE", "lambda ctx: True"))
    (request,) = compile_eval(file)
    assert request.cases[0].wire()["x-sphynx"] == {"fixtures": {"a": 1}, "mocks": {"cli": ["one"]}}


def test_a_case_without_functions_cannot_bring_its_mocks_along(project: Project) -> None:
    file = project.suite(SUITE.replace("VALIDATE", '{"command": "true"}'))
    with pytest.raises(CompileError, match='case "c" has mocks and no Python function') as caught:
        compile_eval(file)
    assert caught.value.hint is not None and "--local" in caught.value.hint
