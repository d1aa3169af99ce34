"""Builders remember where the user called them."""

from __future__ import annotations

import os
from pathlib import Path

from sphynx.suite import case, suite, variant


def test_file_and_line_of_the_call() -> None:
    """A case made in a helper keeps the helper's place; the suite its own."""
    one = case(id="x")
    made = suite(id="s")
    assert (one.file, made.file) == (__file__, __file__)
    assert made.line == one.line + 1
    assert variant().file == __file__


def test_dicts_have_the_suites_place() -> None:
    """A case written as a dict stands where its suite does."""
    made = suite(id="s", cases=[{"id": "x"}])
    assert (made.cases[0].file, made.cases[0].line) == (made.file, made.line)


def test_relative_code_files_become_absolute() -> None:
    """A file run by a relative name is still found later."""
    scope = {"suite": suite, "__name__": "user"}
    exec(compile("made = suite(id='s')", "some/eval.py", "exec"), scope)
    assert Path(scope["made"].file) == Path(os.getcwd()) / "some/eval.py"
