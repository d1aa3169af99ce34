"""The grid: a line per case and variant, a mark per trial, and what may be concluded from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sphynx.cli.render import figures, statistics
from sphynx.cli.render.board import Board, Cell, Row
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import cut, fold, one_line, pad, width

_GAP = "   "
_SPINNING, _SPINNING_ASCII = "◐◓◑◒", "|/-\\"
TURNS_A_SECOND = 4


class _Column(NamedTuple):
    texts: list[str]
    right: bool = False


def head_lines(board: Board, style: Style, *, jobs: int | None = None, recorded: int = 0) -> list[str]:
    """``hello (hello_eval.py)  1 case × 2 variants × 3 trials = 6 trials, 2 at a time``.

    ``recorded`` trials of an earlier run are not run again.
    """
    cases = len({row.case_id for row in board.rows})
    variants = len({row.label for row in board.rows})
    counts = {len(row.cells) for row in board.rows}
    total = len(board.cells)
    shape = f"{figures.plural(cases, 'case')} × {figures.plural(variants, 'variant')}"
    if len(counts) == 1 and cases * variants * max(counts) == total:
        shape += f" × {figures.plural(max(counts), 'trial')}"
    left = total - recorded
    pace = f", {min(jobs, left)} at a time" if jobs and jobs > 1 and left > 1 else ""
    if left < total:
        pace = f", {left} left to run{pace}" if left else ", all of them recorded"
    name = style.paint(one_line(board.batch.suite_name), "bold")
    parts = [f"{name} ({board.batch.file})", f"{shape} = {figures.plural(total, 'trial')}{pace}"]
    return fold(parts, "  ", style.width, "")


def final_lines(board: Board, style: Style) -> list[str]:
    """The grid of a batch that ended."""
    rows = board.rows
    facts = [statistics.row_facts(row.records, len(row.cells)) for row in rows]
    columns = [
        _Column([_label(row, style) for row in rows]),
        _Column([_cells(row.cells, style) for row in rows]),
        _Column([style.paint(fact.rate, fact.colour) for fact in facts], right=True),
        _Column([fact.counts for fact in facts]),
        _Column([fact.interval for fact in facts]),
        _Column([fact.repeats for fact in facts]),
        _Column([fact.chances for fact in facts]),
        _Column([fact.cost for fact in facts], right=True),
    ]
    under = [[style.paint(line, "dim") for line in fact.scores] for fact in facts]
    return _by_case(rows, _layout(columns, style), under, style)


def live_lines(boards: Sequence[Board], style: Style, now: float, *, height: int) -> list[str]:
    """The grid while it runs, in at most ``height`` lines; what does not fit is counted."""
    lines: list[str] = []
    for board in boards:
        rows = board.rows
        facts = [statistics.row_facts(row.records, len(row.cells)) for row in rows]
        columns = [
            _Column([_label(row, style, now) for row in rows]),
            _Column([_cells(row.cells, style, now) for row in rows]),
            _Column([style.paint(fact.rate, fact.colour) for fact in facts], right=True),
            _Column([_clock(row, now) for row in rows], right=True),
            _Column([fact.cost for fact in facts], right=True),
        ]
        grouped = _by_case(rows, _layout(columns, style, second_line=False), [[] for _ in rows], style)
        lines += ["", *grouped]
    if len(lines) <= height:
        return lines
    return _squeeze(boards, style, now, height)


def _squeeze(boards: Sequence[Board], style: Style, now: float, height: int) -> list[str]:
    """Too many rows for the screen: only those that run, then a count."""
    lines = [""]
    rows = [row for board in boards for row in board.rows]
    running = [row for row in rows if any(cell.status == "running" for cell in row.cells)]
    for row in running[: max(0, height - 2)]:
        name = f"{row.case_id}  {_cells(row.cells, style, now)}  {_clock(row, now)}"
        lines.append(
            cut(
                f"  {_mark('running', style, now)} {pad(cut(one_line(row.label), 30), 30)}  {name}",
                style.width,
            )
        )
    rest = len(rows) - (len(lines) - 1)
    return [*lines, style.paint(f"  … {figures.plural(rest, 'more row')}", "dim")]


def status_line(boards: Sequence[Board], jobs: int, now: float, started: float, style: Style) -> str:
    """``4 of 6 trials done, 2 running, about 40s left``."""
    cells = [cell for board in boards for cell in board.cells]
    ended = [cell.record for cell in cells if cell.record is not None]
    running = [cell for cell in cells if cell.status == "running"]
    parts = [f"{len(ended)} of {figures.plural(len(cells), 'trial')} done"]
    if running:
        parts.append(f"{len(running)} running")
    took = [record.duration_ms for record in ended if record.status in ("passed", "failed")]
    if took and len(ended) < len(cells):
        left = _left(sum(took) / len(took), running, len(cells) - len(ended), jobs, now)
        parts.append(f"about {figures.elapsed(left)} left")
    return cut(f"  {', '.join(parts)}    {figures.elapsed((now - started) * 1000)}", style.width)


def _left(mean_ms: float, running: Sequence[Cell], open_trials: int, jobs: int, now: float) -> float:
    """Milliseconds left if every open trial takes as long as the ones that were scored."""
    spent = sum(min(mean_ms, (now - cell.since) * 1000) for cell in running)
    width_now = max(1, min(jobs, open_trials))
    return max(1000.0, (mean_ms * open_trials - spent) / width_now)


def _by_case(
    rows: Sequence[Row], lines: Sequence[list[str]], under: Sequence[list[str]], style: Style
) -> list[str]:
    out: list[str] = []
    case = ""
    for row, own, more in zip(rows, lines, under, strict=True):
        if row.case_id != case:
            if case:
                out.append("")
            case = row.case_id
            out.append("  " + style.paint(cut(one_line(row.case_name), style.width - 2), "bold"))
        out += [*own, *("      " + line for line in more)]
    return out


def _layout(columns: Sequence[_Column], style: Style, *, second_line: bool = True) -> list[list[str]]:
    """Rows of aligned cells; columns that find no room go onto a second line (or, not folded, away)."""
    shown = [column for column in columns if any(column.texts)]
    widths = [max(width(text) for text in column.texts) for column in shown]
    room = style.width - 4
    over = sum(widths) + len(_GAP) * (len(widths) - 1)
    taken = 0
    fit = 0
    for cells in widths:
        taken += cells + (len(_GAP) if fit else 0)
        if taken > room and fit > 1:
            break
        fit += 1
    lines: list[list[str]] = []
    for index in range(len(shown[0].texts) if shown else 0):
        cells = [_aligned(shown[n], widths[n], index) for n in range(fit)]
        own = ["    " + _GAP.join(cells).rstrip()]
        rest = [column.texts[index] for column in shown[fit:] if column.texts[index]]
        if rest and second_line and over > room:
            own += fold(rest, _GAP, style.width, " " * 6)
        lines.append(own)
    return lines


def _aligned(column: _Column, cells: int, index: int) -> str:
    text = column.texts[index]
    return " " * (cells - width(text)) + text if column.right else pad(text, cells)


def _label(row: Row, style: Style, now: float | None = None) -> str:
    return f"{_mark(row.status, style, now)} {cut(one_line(row.label), max(16, style.width // 2))}"


def _cells(cells: Sequence[Cell], style: Style, now: float | None = None) -> str:
    return "".join(_mark(cell.status, style, now) for cell in cells)


def _mark(status: str, style: Style, now: float | None) -> str:
    """A status's mark; the running one turns four times a second while there is a ``now``."""
    if status != "running" or now is None:
        return style.mark(status)
    frames = _SPINNING if style.symbols else _SPINNING_ASCII
    return style.paint(frames[int(now * TURNS_A_SECOND) % len(frames)], "cyan")


def _clock(row: Row, now: float) -> str:
    """How long a row has taken: its trials that ended, and those that run."""
    ended = sum(record.duration_ms for record in row.records)
    running = sum((now - cell.since) * 1000 for cell in row.cells if cell.status == "running")
    return figures.elapsed(ended + running) if ended or running else ""
