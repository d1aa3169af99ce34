"""``sphynx eval --self-test``: can each case tell good from bad?"""

from __future__ import annotations

from collections.abc import Sequence

from sphynx.cli.drive import Run, drive
from sphynx.cli.render import figures, summary
from sphynx.cli.render.style import Style, words
from sphynx.cli.render.text import pad, width, wrap
from sphynx.cli.results_view import kept_lines
from sphynx.cli.screen import Screen
from sphynx.engine import SelfTestRow, Stop, self_test
from sphynx.engine.batch_folder import batches_folder
from sphynx.errors import ExitCode
from sphynx.schema.records import TrialRecord

_UNTOUCHED, _REFERENCE = "untouched workspace", "reference solution"


def report(run: Run) -> int:
    """Run both of every case and print the table; 2 when a case cannot be trusted.

    1 when no case has a solution: then nothing was asked that a check which always fails would not pass.
    """
    stop = Stop()
    screen = Screen(run.err, "silent", jobs=run.plan.options.jobs, in_order=True, earlier={}, on_batch=None)
    rows, signal_code = drive(run, screen, stop, lambda: self_test(run.plan, [screen], stop))
    if stop.stopped:
        run.err.line("  the self-test was stopped")
        return signal_code or ExitCode.ERROR
    run.out.write("".join(line + "\n" for line in table(rows, run.out.style)))
    for line in _evidence(run, rows):
        run.out.line(line)
    error = run.err.style.paint("error:", "bold", "red")
    found = problems(rows)
    for text in found:
        run.err.line(f"{error} {text}")
    half = sum(row.reference is None for row in rows)
    if half and half == len(rows) and not found:
        run.err.line(f"{error} no case has a solution, so nothing says that a right answer passes")
        run.err.line('  hint: case(..., solution="...") is a shell command or a function that does the task')
        return ExitCode.ERROR
    if half:
        has, was = ("has", "was") if half == 1 else ("have", "were")
        told = f"{half} of {figures.plural(len(rows), 'case')} {has} no solution and {was} only half tested"
        run.err.line(told)
    return ExitCode.GATE if found else ExitCode.OK


def _evidence(run: Run, rows: Sequence[SelfTestRow]) -> list[str]:
    """Where what the checks saw can be read: each batch of the self-test, by its folder."""
    roots = {(suite.compiled.suite.id): suite.root for suite in run.plan.suites}
    found = {
        record.batch_id: batches_folder(roots[row.suite_id]) / record.batch_id
        for row in rows
        for record in (row.untouched, row.reference)
        if record is not None
    }
    return [line for name, folder in found.items() for line in kept_lines(name, folder, run.out.style)]


def table(rows: Sequence[SelfTestRow], style: Style) -> list[str]:
    """A line per case: what its checks say of an untouched workspace and of its reference solution."""
    several = len({row.suite_id for row in rows}) > 1
    names = [f"{row.suite_id}/{row.case_id}" if several else row.case_id for row in rows]
    first = max([len("case"), *(width(name) for name in names)])
    second = max([len(_UNTOUCHED), *(width(_untouched(row, style)) for row in rows)])
    lines = [style.paint(f"  {pad('case', first)}   {pad(_UNTOUCHED, second)}   {_REFERENCE}", "dim")]
    for row, name in zip(rows, names, strict=True):
        cells = (pad(name, first), pad(_untouched(row, style), second), _reference(row, style))
        lines.append("  " + "   ".join(cells).rstrip())
        for record in (row.untouched, row.reference):
            if record is not None and record.status in ("void", "timed_out", "cancelled"):
                for reason in summary.reasons(record):
                    lines += ["      " + line for line in wrap(reason, style.width - 6)]
    return lines


def problems(rows: Sequence[SelfTestRow]) -> list[str]:
    """One sentence per case that cannot be trusted."""
    found: list[str] = []
    for row in rows:
        if not row.untouched_ok:
            found.append(f"{row.case_id} {_ended(row.untouched)} before the agent does anything")
        if row.reference is not None and not row.reference_ok:
            found.append(f"{row.case_id} {_ended(row.reference)} with its own reference solution")
    return found


def _ended(record: TrialRecord) -> str:
    return {"passed": "passes", "failed": "fails", "void": "is void", "timed_out": "times out"}.get(
        record.status, f"is {words(record.status)}"
    )


def _untouched(row: SelfTestRow, style: Style) -> str:
    return _judged(row.untouched, row.untouched_ok, style)


def _reference(row: SelfTestRow, style: Style) -> str:
    if row.reference is None:
        return style.paint("· no solution", "dim")
    return _judged(row.reference, row.reference_ok, style)


def _judged(record: TrialRecord, good: bool, style: Style) -> str:
    said = {"passed": "passes", "failed": "fails"}.get(record.status, words(record.status))
    mark = {"passed": "✓", "failed": "✗"}.get(record.status, "○")
    verdict = style.paint("(good)", "green") if good else style.paint("(bad)", "red")
    return f"{mark} {pad(said, 6)} {verdict}"
