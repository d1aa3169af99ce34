"""Whether a batch's results let a build go on (``--fail-on``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sphynx.errors import ExitCode
from sphynx.results import verdict
from sphynx.schema.records import BatchRecord, RunPlan, TrialRecord

FailOn = Literal["failures", "strict", "never"]
_ORDER = ("failed", "void", "timed_out", "cancelled", "running", "queued")
_UNDECIDED = ("queued", "running", "error", "skipped")


@dataclass(frozen=True, slots=True)
class GateTrial:
    """What the gate reads of a trial; the rest is its verdict in words."""

    ordinal: int
    status: str
    undecided: int = 0
    """Checks that never came to a decision."""
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GateRun:
    """One case on one variant, ``label`` reading ``case on variant``."""

    label: str
    status: str
    expected: int
    """Trials that were asked for."""
    trials: tuple[GateTrial, ...]


@dataclass(frozen=True, slots=True)
class GateProblem:
    """One reason not to go on: a line, and the trial's verdict below it."""

    text: str
    detail: tuple[str, ...] = ()
    status: str | None = None
    """The trial's status; ``None`` for a problem that is not about one trial."""


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """``error`` when the batch itself is no result (exit 1), else the problems (exit 2 if any)."""

    error: str | None = None
    problems: tuple[GateProblem, ...] = field(default=())

    @property
    def exit_code(self) -> ExitCode:
        """What the command should end with."""
        if self.error is not None:
            return ExitCode.ERROR
        return ExitCode.GATE if self.problems else ExitCode.OK


def decide(
    *, status: str, failure: str | None, runs: Sequence[GateRun], expected_runs: int, fail_on: FailOn
) -> GateOutcome:
    """Apply the gate to one batch.

    A batch that failed, has not finished or has no runs is an error whatever the gate. ``never`` has no
    problems. ``failures``: each trial that did not pass, and each run that failed. ``strict``: also a run
    that is missing or unfinished, and trials that are.
    """
    if status != "finished":
        return GateOutcome(error=failure or f"the batch did not finish, it is {status}")
    if not runs:
        return GateOutcome(error="the batch has no runs")
    if fail_on == "never":
        return GateOutcome()
    if fail_on == "strict" and len(runs) != expected_runs:
        return GateOutcome(problems=(GateProblem(f"expected {_runs(expected_runs)}, found {len(runs)}"),))
    judge = _strict if fail_on == "strict" else _failures
    return GateOutcome(problems=tuple(problem for run in runs for problem in judge(run)))


def gate_batch(
    batch: Mapping[str, Any], fail_on: FailOn, *, expected_runs: int, expected_trials: int
) -> GateOutcome:
    """The gate over a wire ``EvalBatch``; ``expected_trials`` are those of one run."""
    return decide(
        status=batch["status"],
        failure=batch.get("failure"),
        runs=[_wire_run(run, expected_trials) for run in batch["runs"]],
        expected_runs=expected_runs,
        fail_on=fail_on,
    )


def gate_records(batch: BatchRecord, trials: Sequence[TrialRecord], fail_on: FailOn) -> GateOutcome:
    """The gate over a recorded local batch: its plan says what was expected."""
    return decide(
        status=batch.status,
        failure=batch.failure,
        runs=[_recorded_run(plan, trials) for plan in batch.runs],
        expected_runs=len(batch.runs),
        fail_on=fail_on,
    )


def headline(problems: Sequence[GateProblem]) -> str:
    """``1 trial failed, 1 void``: the problems of one or more batches, counted."""
    counts = Counter(problem.status for problem in problems if problem.status is not None)
    order = sorted(
        counts, key=lambda status: (_ORDER.index(status) if status in _ORDER else len(_ORDER), status)
    )
    parts = [f"{counts[status]} {status.replace('_', ' ')}" for status in order]
    if parts:
        number, word = parts[0].split(" ", 1)
        parts[0] = f"{number} {'trial' if number == '1' else 'trials'} {word}"
    others = sum(problem.status is None for problem in problems)
    if others:
        parts.append(f"{_runs(others)} incomplete")
    return ", ".join(parts)


def _place(status: str) -> tuple[int, str]:
    return (_ORDER.index(status) if status in _ORDER else len(_ORDER)), status


def _runs(count: int) -> str:
    return f"{count} run" if count == 1 else f"{count} runs"


def _strict(run: GateRun) -> list[GateProblem]:
    if run.status != "finished" or not run.trials:
        what = "has no trials" if run.status == "finished" else f"did not finish, it is {run.status}"
        return [GateProblem(f"{run.label}: {what}")]
    if len(run.trials) != run.expected:
        return [GateProblem(f"{run.label}: expected {run.expected} trials, found {len(run.trials)}")]
    return _not_passed(run)


def _failures(run: GateRun) -> list[GateProblem]:
    if run.status == "failed":
        return [GateProblem(f"{run.label}: the run failed")]
    return _not_passed(run)


def _not_passed(run: GateRun) -> list[GateProblem]:
    problems: list[GateProblem] = []
    for trial in run.trials:
        if trial.status == "passed":
            continue
        text = f"{run.label}, trial {trial.ordinal}: {trial.status.replace('_', ' ')}"
        if trial.undecided:
            checks = "check" if trial.undecided == 1 else "checks"
            text += f", {trial.undecided} {checks} never decided"
        problems.append(GateProblem(text, trial.detail, trial.status))
    return problems


def _undecided(validations: Sequence[Mapping[str, Any]]) -> int:
    return sum(check.get("status") in _UNDECIDED for check in validations)


def _wire_run(run: Mapping[str, Any], expected: int) -> GateRun:
    case = run["case"]
    name = case if isinstance(case, str) else case["id"]
    trials = tuple(_wire_trial(trial) for trial in run["trials"])
    return GateRun(f"{name} on {_wire_label(run['variant'])}", run["status"], expected, trials)


def _wire_label(variant: Mapping[str, Any]) -> str:
    profile = variant.get("profile")
    if isinstance(profile, Mapping):
        profile = profile.get("name")
    return f"{variant['harness']}/{variant['model']}" + (f"@{profile}" if profile else "")


def _wire_trial(trial: Mapping[str, Any]) -> GateTrial:
    validations = trial.get("validations") or ()
    # On the wire a trial that ran out of time is a void one with ``timed`` set.
    status = "timed_out" if trial["status"] == "void" and trial.get("timed") else trial["status"]
    detail = verdict.lines(
        status,
        validations=validations,
        verify_steps=trial.get("verifySteps") or (),
        void_fields=trial.get("voidFields") or (),
        failure=trial.get("failure"),
    )
    return GateTrial(trial["ordinal"], status, _undecided(validations), tuple(detail))


def _recorded_run(plan: RunPlan, trials: Sequence[TrialRecord]) -> GateRun:
    own = [trial for trial in trials if trial.case_id == plan.case_id and trial.variant == plan.variant]
    settled = [trial for trial in own if trial.status != "cancelled"]
    return GateRun(
        label=f"{plan.case_id} on {plan.variant}",
        status="finished" if len(settled) >= plan.trials else "running",
        expected=plan.trials,
        trials=tuple(
            GateTrial(
                trial.ordinal, trial.status, _undecided(trial.validations), tuple(verdict.of_record(trial))
            )
            for trial in sorted(own, key=lambda trial: trial.ordinal)
        ),
    )


def _recorded_trial(trial: TrialRecord) -> GateTrial:
    detail = tuple(verdict.of_record(trial))
    return GateTrial(trial.ordinal, trial.status, _undecided(trial.validations), detail)
