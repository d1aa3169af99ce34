"""Batches and runs of a server as lines."""

from __future__ import annotations

from collections import Counter

from sphynx.cli.out import Out, stdout
from sphynx.cli.render import grid, summary
from sphynx.cli.render.board import Board
from sphynx.cli.render.style import Style, words
from sphynx.cli.render.text import clean, fold, one_line
from sphynx.cli.server_board import board_of, status_of
from sphynx.results import verdict
from sphynx.schema.wire import EvalBatch, EvalRun, EvalTrial, EvalVariant

_MARKS = {"passed": "✓", "failed": "✗", "void": "○", "running": "…", "queued": "·"}


def label(variant: EvalVariant) -> str:
    """``harness/model`` plus ``@profile``."""
    return f"{variant.harness}/{variant.model}" + (f"@{variant.profile}" if variant.profile else "")


def print_batch(
    batch: EvalBatch, out: Out | None = None, *, where: str = "on a server", link: str = ""
) -> None:
    """The final grid, each trial with why it did not pass, and the totals, as a local run prints them."""
    out = out or stdout()
    style = out.style
    board = board_of(batch.wire(), where)
    records = board.records
    several = any(len(row.cells) > 1 for row in board.rows)
    lines = ["", *grid.head_lines(board, style), "", *grid.final_lines(board, style), ""]
    if records:
        lines += [*summary.trial_lines(records, style, numbered=several), ""]
    lines += [*_totals(batch, board, style), *summary.cost_lines(records, style)]
    if batch.failure:
        lines.append(f"  {batch.status}: {one_line(batch.failure)}")
    look = f"sphynx batches get {batch.id}"
    lines += fold([link, look] if link else [look], "   ", style.width)
    out.write("".join(line + "\n" for line in lines))


def _totals(batch: EvalBatch, board: Board, style: Style) -> list[str]:
    left = Counter(trial.status for run in batch.runs for trial in run.trials)
    open_trials = [f"{left[word]} {word}" for word in ("running", "queued") if left[word]]
    if not board.records:
        told = ", ".join(open_trials) or "no trials"
        return [f"  {batch.status}: {told}"]
    end = batch.finished_at or max(run.started_at for run in batch.runs)
    took = max(0.0, (end - batch.started_at).total_seconds() * 1000)
    lines = summary.totals_lines(board.records, style, took)
    return [*lines, f"  {batch.status}: {', '.join(open_trials)}"] if open_trials else lines


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


def progress(batch: EvalBatch) -> str:
    """``12/30 trials, 1 failed``."""
    trials = [trial.status for run in batch.runs for trial in run.trials]
    ended = sum(status not in ("queued", "running") for status in trials)
    told = [status_of({"status": one.status, "timed": one.timed}) for run in batch.runs for one in run.trials]
    bad = [f"{told.count(word)} {words(word)}" for word in ("failed", "void", "timed_out") if word in told]
    running = [f"{trials.count('running')} running"] if "running" in trials else []
    return ", ".join([f"{ended}/{len(trials)} trials", *running, *bad])


def _print_reason(trial: EvalTrial, out: Out) -> None:
    if trial.status in ("passed", "queued", "running"):
        return
    for line in verdict.lines(
        status_of({"status": trial.status, "timed": trial.timed}),
        validations=[one.wire() for one in trial.validations],
        verify_steps=[one.wire() for one in trial.verify_steps],
        void_fields=trial.void_fields,
        failure=trial.failure,
    ):
        out.line(f"  {clean(line)}")
