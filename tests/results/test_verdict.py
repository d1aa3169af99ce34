"""A settled trial in a few lines."""

from __future__ import annotations

import pytest

from case_data import case_id, load
from sphynx.results import verdict


@pytest.mark.parametrize("case", load("verdict-lines"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    given = case["input"]
    found = verdict.lines(
        given["status"],
        validations=given.get("validations", ()),
        verify_steps=given.get("verifySteps", ()),
        void_fields=given.get("voidFields", ()),
        failure=given.get("failure"),
    )
    assert found == case["expected"]["lines"]


def test_commands_are_counted_when_no_checks_were_recorded() -> None:
    """A shell check passed when it exited 0."""
    steps = [{"command": "a", "exitCode": 0}, {"command": "b", "exitCode": 2}]
    assert verdict.lines("failed", verify_steps=steps) == ["  ✗ failed · 1 of 2 checks passed"]


def test_the_failure_says_more_than_the_fields() -> None:
    """A trial that was not scored gives its reason; bare without one."""
    assert verdict.lines("timed_out", failure="past 5m", void_fields=["x"]) == ["  ○ timed out · past 5m"]
    assert verdict.lines("void") == ["  ○ void"]


def test_messages_of_several_lines_stay_in_place() -> None:
    """Each line of a failing check's message is indented; a check in error is listed too."""
    checks = [{"name": "a", "status": "error", "durationMs": 3100, "message": "one\n\n  two\n"}]
    assert verdict.lines("failed", validations=checks) == [
        "  ✗ failed · 0 of 1 checks passed",
        "    ✗ a · 3.1s",
        "      one",
        "",
        "        two",
    ]


def test_colour_only_when_asked_for() -> None:
    """Marks are painted by the caller's own paint, and by nothing else."""
    plain = verdict.lines("passed")
    painted = verdict.lines("passed", paint=lambda text, colour: f"<{colour}>{text}")
    assert plain == ["  ✓ passed"]
    assert painted == ["  <green>✓ passed"]


@pytest.mark.parametrize(("ms", "text"), [(0, "0ms"), (999, "999ms"), (1000, "1.0s"), (300_000, "5m00s")])
def test_durations(ms: float, text: str) -> None:
    """Milliseconds, seconds, minutes."""
    assert verdict.duration(ms) == text
