"""Why something broke, in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.errors import StageError
from sphynx.results.failure import failure_text


@pytest.mark.parametrize("case", load("failure-text"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    assert failure_text(case["input"]) == case["expected"]["text"]


def caught(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as raised:
        return raised


def test_exceptions_tell_the_deepest_cause() -> None:
    """Outer message and deepest cause; a stage's own message; an error without words by its type."""
    deep = caught(ValueError("middle"), OSError(111, "Connection refused"))
    assert failure_text(caught(RuntimeError("request failed"), deep)) == "request failed: Connection refused"
    assert failure_text(caught(RuntimeError("same"), ValueError("same"))) == "same"
    assert failure_text(StageError("prepare broke", stage="prepare", cause="setup")) == "prepare broke"
    assert failure_text(ValueError()) == "ValueError"
    assert failure_text(FileNotFoundError(2, "No such file or directory", "a.txt")) == (
        "No such file or directory: a.txt"
    )


def test_a_group_tells_its_first_error() -> None:
    """An exception group says what went wrong inside it."""
    group = ExceptionGroup("unhandled errors in a task group (1 sub-exception)", [ValueError("bad port")])
    assert failure_text(group).endswith(": bad port")


def test_causes_in_a_circle_end() -> None:
    """Errors that name each other as cause do not hang."""
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert failure_text(one).startswith("one")


@given(st.text(max_size=400))
def test_always_one_short_line(text: str) -> None:
    """Whatever the text: one line, at most 240 characters and an ellipsis."""
    found = failure_text(text)
    assert len(found) <= 241
    assert len(found.splitlines()) <= 1
