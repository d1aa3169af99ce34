"""What lets a build go on and what does not."""

from __future__ import annotations

import pytest

from case_data import case_id, load
from sphynx.errors import ExitCode
from sphynx.results.gate import gate_batch, gate_records, headline
from sphynx.schema.records import BatchRecord, RunPlan, TrialRecord

VOID_NAMES = {"gate-02": ("berth-log on codex/m-1", "trial 2", "trial 3", "timed out")}
NAMES = {"gate-04": ("berth-log on codex/m-1", "3", "1"), "gate-05": ("2", "1")}


@pytest.mark.parametrize("case", load("gate"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    given, expected = case["input"], case["expected"]
    outcome = gate_batch(
        given["batch"],
        given["failOn"],
        expected_runs=given["expectedRuns"],
        expected_trials=given["expectedTrials"],
    )
    assert outcome.exit_code == expected["exitCode"]
    assert len(outcome.problems) == expected["problems"]
    assert (outcome.error is None) == (expected["error"] is None)
    if given["batch"]["failure"]:
        assert outcome.error == given["batch"]["failure"]
    text = "\n".join(problem.text for problem in outcome.problems)
    assert all(part in text for part in NAMES.get(case["id"], VOID_NAMES.get(case["id"], ())))


def plan(trials: int = 2) -> RunPlan:
    return RunPlan(
        case_id="c", case_name="C", variant="h/m", harness="h", model="m", definition_hash="d", trials=trials
    )


def batch(status: str = "finished", **fields: object) -> BatchRecord:
    values = {"runs": [plan()], **fields}
    return BatchRecord(
        id="b", suite_id="s", suite_name="S", file="s_eval.py", sphynx_version="0",
        started_at="2030-01-01T00:00:00.000Z", status=status, **values,
    )  # fmt: skip


def trial(ordinal: int, status: str, **fields: object) -> TrialRecord:
    return TrialRecord(
        id=f"t{ordinal}", batch_id="b", suite_id="s", case_id="c", variant="h/m", ordinal=ordinal,
        status=status, isolation="none", harness="h", harness_version="", model="m",
        started_at="2030-01-01T00:00:00.000Z", duration_ms=1, **fields,
    )  # fmt: skip


@pytest.mark.parametrize("status", ["failed", "void", "timed_out", "cancelled"])
@pytest.mark.parametrize("fail_on", ["failures", "strict", "never"])
def test_only_a_pass_passes(status: str, fail_on: str) -> None:
    """Every other status fails the gate of a local batch, except under ``never``."""
    outcome = gate_records(batch(), [trial(1, "passed"), trial(2, status)], fail_on)
    assert outcome.exit_code == (ExitCode.OK if fail_on == "never" else ExitCode.GATE)


def test_missing_trials_fail_only_the_strict_gate() -> None:
    """The default gate looks at what there is."""
    found = [trial(1, "passed")]
    assert gate_records(batch(), found, "failures").exit_code == ExitCode.OK
    assert gate_records(batch(), found, "strict").exit_code == ExitCode.GATE


@pytest.mark.parametrize("status", ["running", "failed", "cancelled"])
def test_a_batch_that_did_not_finish_is_an_error(status: str) -> None:
    """Whatever the gate: it is no result."""
    outcome = gate_records(batch(status), [trial(1, "passed"), trial(2, "passed")], "never")
    assert (outcome.exit_code, outcome.problems) == (ExitCode.ERROR, ())
    assert status in (outcome.error or "")


def test_a_problem_says_which_trial_and_why() -> None:
    """Case, variant, trial, status, checks that never decided, and the verdict below."""
    checks = [
        {"name": "reads", "status": "passed", "durationMs": 1, "message": ""},
        {"name": "writes", "status": "failed", "durationMs": 88, "message": "nothing there"},
        {"name": "tidy", "status": "skipped", "durationMs": None, "message": ""},
    ]
    (problem,) = gate_records(
        batch(), [trial(1, "failed", validations=checks), trial(2, "passed")], "failures"
    ).problems
    assert problem.text == "c on h/m, trial 1: failed, 1 check never decided"
    assert problem.detail == (
        "  ✗ failed · 1 of 3 checks passed",
        "    ✗ writes · 88ms",
        "      nothing there",
    )


def test_a_wire_trial_that_ran_out_of_time_says_so() -> None:
    """On the wire it is void; ``timed`` tells the two apart."""
    run = {
        "case": {"id": "c", "name": "C"},
        "variant": {"harness": "h", "model": "m", "profile": "strict"},
        "status": "finished",
        "trials": [{"ordinal": 1, "status": "void", "timed": True, "failure": "ran past 1s"}],
    }
    wire = {"status": "finished", "failure": None, "runs": [run]}
    (problem,) = gate_batch(wire, "failures", expected_runs=1, expected_trials=1).problems
    assert problem.text == "c on h/m@strict, trial 1: timed out"
    assert problem.detail == ("  ○ timed out · ran past 1s",)


def test_problems_are_counted_in_words() -> None:
    """What the last line of a run says."""
    found = [trial(1, "failed"), trial(2, "failed"), trial(3, "void"), trial(4, "timed_out")]
    assert (
        headline(gate_records(batch(), found, "failures").problems) == "2 trials failed, 1 void, 1 timed out"
    )
    assert headline(gate_records(batch(), [trial(1, "void")], "failures").problems) == "1 trial void"
    assert headline(gate_records(batch(), [], "strict").problems) == "1 run incomplete"
