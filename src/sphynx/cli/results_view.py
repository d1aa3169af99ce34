"""What a batch leaves on stdout: the final grid, its trials, its totals and where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sphynx.cli.out import Out
from sphynx.cli.render import grid, summary
from sphynx.cli.render.board import Board
from sphynx.cli.render.problems import relative
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import fold
from sphynx.schema.records import TrialRecord


def print_batch(out: Out, board: Board, elapsed_ms: float, folder: Path) -> None:
    """Grid, trials, totals and where the batch is kept."""
    style = out.style
    records = board.records
    several = any(len(row.cells) > 1 for row in board.rows)
    lines = ["", *grid.head_lines(board, style), "", *grid.final_lines(board, style), ""]
    lines += [*summary.trial_lines(records, style, numbered=several), ""]
    lines += summary.totals_lines(records, style, elapsed_ms)
    lines += [*summary.warning_lines(records), *summary.cost_lines(records, style)]
    lines += kept_lines(board.batch.id, folder, style)
    out.write("".join(line + "\n" for line in lines))


def kept_lines(batch_id: str, folder: Path, style: Style) -> list[str]:
    """``.sphynx/batches/<id>   sphynx show <id>``; by its path where the id alone would not be found."""
    root = folder.parents[2]
    found = root in (Path.cwd(), *Path.cwd().parents)
    return fold([relative(str(folder)), f"sphynx show {batch_id if found else folder}"], "   ", style.width)


def nothing_scored(records: Sequence[TrialRecord]) -> str:
    """``nothing was scored: 3 void``; empty when something was."""
    if any(record.status in ("passed", "failed") for record in records):
        return ""
    told = summary.counts(record.status for record in records)
    return f"nothing was scored: {told}" if told else "nothing was scored"
