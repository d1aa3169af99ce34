"""What a batch leaves on stdout: the final grid, its trials, its totals and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sphynx.cli.out import Out
from sphynx.cli.render import grid, summary
from sphynx.cli.render.board import Board
from sphynx.cli.render.problems import relative
from sphynx.schema.records import TrialRecord


def print_batch(out: Out, board: Board, elapsed_ms: float, folder: Path | None = None) -> None:
    """Grid, trials, totals and where the batch is kept."""
    style = out.style
    records = board.records
    several = any(len(row.cells) > 1 for row in board.rows)
    lines = ["", grid.head_line(board, style), "", *grid.final_lines(board, style), ""]
    lines += [*summary.trial_lines(records, style, numbered=several), ""]
    lines.append(summary.totals_line(records, style, elapsed_ms))
    lines += summary.warning_lines(records)
    money = summary.cost_line(records)
    lines += [money] if money else []
    lines.append(kept_line(board.batch.id, folder))
    out.write("".join(line + "\n" for line in lines))


def kept_line(batch_id: str, folder: Path | None) -> str:
    """``.sphynx/batches/<id>   sphynx show <id>``."""
    where = relative(str(folder)) if folder is not None else f".sphynx/batches/{batch_id}"
    return f"  {where}   sphynx show {batch_id}"


def nothing_scored(records: Sequence[TrialRecord]) -> str:
    """``nothing was scored: 3 void``; empty when something was."""
    if any(record.status in ("passed", "failed") for record in records):
        return ""
    told = summary.counts(record.status for record in records)
    return f"nothing was scored: {told}" if told else "nothing was scored"
