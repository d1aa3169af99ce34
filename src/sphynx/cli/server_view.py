"""Batches and runs of a server as lines."""

from __future__ import annotations

from sphynx.cli.out import Out, stdout
from sphynx.cli.render.text import clean, one_line, pad
from sphynx.results import verdict
from sphynx.schema.wire import EvalBatch, EvalRun, EvalTrial, EvalVariant

_MARKS = {"passed": "✓", "failed": "✗", "void": "○", "running": "…", "queued": "·"}


def label(variant: EvalVariant) -> str:
    """``harness/model`` plus ``@profile``."""
    return f"{variant.harness}/{variant.model}" + (f"@{variant.profile}" if variant.profile else "")


def marks(run: EvalRun) -> str:
    """One mark per trial."""
    return " ".join(_MARKS.get(trial.status, "?") for trial in run.trials)


def print_batch(batch: EvalBatch, out: Out | None = None) -> None:
    """A grid line per run, why trials did not pass, and the totals."""
    out = out or stdout()
    names = [one_line(f"{run.case.id} on {label(run.variant)}") for run in batch.runs]
    widest = max(map(len, names), default=0)
    for name, run in zip(names, batch.runs, strict=True):
        out.line(f"  {pad(name, widest)}  {marks(run)}")
        for trial in run.trials:
            _print_reason(trial, out)
    out.line(totals(batch))


def print_run(run: EvalRun) -> None:
    """A run, each trial with its verdict and its checks."""
    out = stdout()
    out.line(f"{run.case.id} on {label(run.variant)}, {run.status}, batch {run.batch_id}")
    for trial in run.trials:
        out.line(f"  trial {trial.ordinal}: {_MARKS.get(trial.status, '?')} {trial.status}")
        _print_reason(trial, out)
        for check in trial.validations:
            message = f": {one_line(check.message)}" if check.message else ""
            out.line(f"    {_MARKS.get(check.status, '○')} {one_line(check.name)}{message}")


def totals(batch: EvalBatch) -> str:
    """``finished: 3 passed, 1 failed, 1 void``."""
    counts: dict[str, int] = {}
    for run in batch.runs:
        for trial in run.trials:
            counts[trial.status] = counts.get(trial.status, 0) + 1
    shown = [f"{counts[status]} {status}" for status in _MARKS if status in counts]
    failure = f": {one_line(batch.failure)}" if batch.failure else ""
    return f"{batch.status}{failure}: {', '.join(shown) or 'no trials'}"


def progress(batch: EvalBatch) -> str:
    """``12/30 trials, 1 failed``."""
    trials = [trial.status for run in batch.runs for trial in run.trials]
    ended = sum(status not in ("queued", "running") for status in trials)
    bad = [f"{trials.count(word)} {word}" for word in ("failed", "void") if word in trials]
    return ", ".join([f"{ended}/{len(trials)} trials", *bad])


def _print_reason(trial: EvalTrial, out: Out) -> None:
    if trial.status in ("passed", "queued", "running"):
        return
    for line in verdict.lines(
        "timed_out" if trial.timed else trial.status,
        validations=[one.wire() for one in trial.validations],
        verify_steps=[one.wire() for one in trial.verify_steps],
        void_fields=trial.void_fields,
        failure=trial.failure,
    ):
        out.line(f"  {clean(line)}")
