"""A recorded batch as lines: its grid, or one trial with transcript, verdicts and diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sphynx.cli.render import figures, grid, summary
from sphynx.cli.render.board import Board
from sphynx.cli.render.diff import diff_lines
from sphynx.cli.render.evidence import evidence_lines
from sphynx.cli.render.style import Style, words
from sphynx.cli.render.text import clean, one_line
from sphynx.cli.render.transcript import Speaker, Transcript
from sphynx.cli.render.verdict import verdict_lines
from sphynx.cli.results_view import kept_lines, nothing_scored
from sphynx.engine import StoredBatch, StoredTrial, read_events
from sphynx.errors import UsageError
from sphynx.schema.records import BatchRecord, TrialRecord


@dataclass(frozen=True, slots=True)
class Choice:
    """Which trials: ``None`` means all."""

    case: str | None = None
    variant: str | None = None
    trial: int | None = None

    @property
    def everything(self) -> bool:
        """Nothing was narrowed."""
        return self.case is None and self.variant is None and self.trial is None


def choose(stored: StoredBatch, choice: Choice) -> list[StoredTrial]:
    """The recorded trials that match; ``UsageError`` naming what there is when none does."""
    batch = stored.record
    _known(choice.case, [run.case_id for run in batch.runs], "case", batch.id)
    choice = replace(choice, variant=_variant(choice.variant, batch))
    found = [
        trial
        for trial in stored.trials
        if trial.record is not None
        and choice.case in (None, trial.record.case_id)
        and choice.variant in (None, trial.record.variant)
        and choice.trial in (None, trial.record.ordinal)
    ]
    if not found and not choice.everything:
        raise UsageError(
            f"batch {batch.id} has no record of that trial", hint=f"sphynx show {batch.id} lists them"
        )
    order = {(run.case_id, run.variant): number for number, run in enumerate(batch.runs)}
    return sorted(found, key=lambda trial: _place(trial, order))


def _place(trial: StoredTrial, order: dict[tuple[str, str], int]) -> tuple[int, int]:
    record = trial.record
    return (order.get((record.case_id, record.variant), 0), record.ordinal) if record is not None else (0, 0)


def _variant(wanted: str | None, batch: BatchRecord) -> str | None:
    """The label that is meant: a profile's name or ``harness/model`` do, as with ``sphynx eval``."""
    labels = list(dict.fromkeys(run.variant for run in batch.runs))
    if wanted is None or wanted in labels:
        return wanted
    loose = [run.variant for run in batch.runs if wanted in (f"{run.harness}/{run.model}", run.profile)]
    fitting = list(dict.fromkeys(loose))
    if len(fitting) > 1:
        hint = "name one of them: " + ", ".join(fitting)
        raise UsageError(f'batch {batch.id}: variant "{wanted}" fits {len(fitting)} variants', hint=hint)
    if not fitting:
        _known(wanted, labels, "variant", batch.id)
    return fitting[0]


def _known(wanted: str | None, there: list[str], word: str, batch_id: str) -> None:
    if wanted is None or wanted in there:
        return
    names = list(dict.fromkeys(there))
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f'did you mean "{near[0]}"?' if near else "there are: " + ", ".join(names)
    raise UsageError(f'batch {batch_id} has no {word} "{wanted}"', hint=hint)


def batch_lines(stored: StoredBatch, style: Style) -> list[str]:
    """The grid, the trials and the totals of a batch, as its run printed them."""
    batch = stored.record
    board = Board.of(batch, stored.recorded)
    records = board.records
    several = any(len(row.cells) > 1 for row in board.rows)
    lines = [*grid.head_lines(board, style), "", *grid.final_lines(board, style), ""]
    lines += [*summary.trial_lines(records, style, numbered=several), ""]
    took = figures.span_ms(batch.started_at, batch.finished_at) if batch.finished_at else 0.0
    lines += summary.totals_lines(records, style, took or sum(record.duration_ms for record in records))
    lines += [*summary.warning_lines(records), *summary.cost_lines(records, style), *_state(stored, board)]
    lines += kept_lines(batch.id, stored.folder, style)
    if records:
        case = records[0].case_id
        lines.append(
            style.paint(f"  sphynx show {batch.id} --case {case}   transcript, checks and diff", "dim")
        )
    nothing = nothing_scored(records)
    return [*lines, f"  {nothing}"] if nothing else lines


def _state(stored: StoredBatch, board: Board) -> list[str]:
    """What a reader must know of a batch that did not end as planned."""
    batch = stored.record
    missing = len(board.cells) - len(board.records)
    lines = [f"  {batch.status}: {one_line(batch.failure)}"] if batch.failure else []
    if missing:
        left = figures.plural(missing, "trial")
        lines.append(f"  {left} without a record   sphynx eval --local --resume {batch.id}")
    return lines


def trial_lines(stored: StoredBatch, trial: StoredTrial, style: Style) -> Iterator[str]:
    """One trial whole: what it was, its transcript, its verdict, what it changed."""
    record = trial.record
    if record is None:
        return
    runs = [
        run for run in stored.record.runs if (run.case_id, run.variant) == (record.case_id, record.variant)
    ]
    several = bool(runs) and runs[0].trials > 1
    yield _head(record, style, numbered=several)
    speaker = Speaker(record.case_id, record.variant, record.id)
    transcript = Transcript(style, whole=True, headless=True)
    for event in read_events(trial.folder):
        yield from transcript.event(speaker, event)
    yield from transcript.settled(speaker, verdict_lines(record, style, every=True), record.reason)
    yield from evidence_lines(record, style)
    yield from _notes(record)
    yield from diff_lines(record, style)
    yield ""


def _head(record: TrialRecord, style: Style, *, numbered: bool) -> str:
    number = f", trial {record.ordinal}" if numbered else ""
    version = f" {record.harness_version}" if record.harness_version else ""
    took = f"{words(record.status)} in {figures.duration(record.duration_ms)}"
    name = style.paint(f"{record.case_id} on {record.variant}", "bold")
    return f"{name}{number}: {took}, isolation {record.isolation}, harness {record.harness}{version}"


def _notes(record: TrialRecord) -> list[str]:
    lines = [f"  warning   {text}" for text in summary.usage_warnings(record)]
    lines += [f"  note      {one_line(note)}" for note in record.notes]
    for score in record.scores:
        parts = [] if score.score is None else [f"score {figures.number(score.score)}"]
        parts += [f"{clean(name)} {figures.number(value)}" for name, value in score.metrics.items()]
        lines.append(f"  measured  {score.check}: {', '.join(parts)}")
    return lines
