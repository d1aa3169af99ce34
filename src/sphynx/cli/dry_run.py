"""``sphynx eval --dry-run``: what would run and what it needs. Starts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sphynx.cli.drive import Run
from sphynx.cli.render import figures
from sphynx.cli.render.problems import relative
from sphynx.cli.render.style import Style
from sphynx.cli.render.summary import run_cost
from sphynx.cli.render.text import pad, width
from sphynx.engine import LocalPlan, Need, PlannedSuite, list_batches, read_batch
from sphynx.errors import ExitCode
from sphynx.schema.records import BatchRecord

_LEAD = 10
_LOOKED_AT = 50
"""Newest batches that are searched for one of the same suite."""


def report(run: Run) -> int:
    """Print the plan; 1 when a variable is missing."""
    out, plan = run.out, run.plan
    for suite in plan.suites:
        out.line(_head(suite, out.style, plan))
    for line in _needs(plan.needs, out.style) + _history(plan):
        out.line(line)
    if not plan.missing:
        return ExitCode.OK
    names = {need.name for need in plan.missing}
    verb = "is" if len(names) == 1 else "are"
    lead = run.err.style.paint("error:", "bold", "red")
    run.err.line(f"{lead} {figures.plural(len(names), 'key')} {verb} missing, nothing was started")
    return ExitCode.ERROR


def _head(suite: PlannedSuite, style: Style, plan: LocalPlan) -> str:
    parts = (
        figures.plural(len(suite.cases), "case"),
        figures.plural(len(suite.variants), "variant"),
        figures.plural(suite.trials, "trial"),
    )
    left = "" if suite.remaining == suite.total else f", {suite.remaining} left to run"
    name = style.paint(suite.compiled.suite.name, "bold")
    file = relative(str(suite.compiled.file), plan.options.cwd)
    return f"{name} ({file})  {' × '.join(parts)} = {figures.plural(suite.total, 'trial')}{left}"


def _needs(needs: Sequence[Need], style: Style) -> list[str]:
    names: dict[str, Need] = {}
    for need in needs:
        names.setdefault(need.name, need)
    room = max((width(name) for name in names), default=0)
    lines: list[str] = []
    for name, need in names.items():
        if need.found:
            state = style.paint("found", "green") + (f"   {need.why}" if need.why else "")
        else:
            why = f"   {need.why}" if need.why else ""
            state = f"{style.paint('missing', 'red')}{why}   hint: export {name}=..."
        lines.append(f"  {pad('needs' if not lines else '', _LEAD - 2)}{pad(name, room)}   {state}")
    return lines


def _history(plan: LocalPlan) -> list[str]:
    lines: list[str] = []
    for suite in plan.suites:
        told = _last_batch(suite)
        if told:
            several = f" ({suite.compiled.suite.id})" if len(plan.suites) > 1 else ""
            lines.append(f"  {pad('history' if not lines else '', _LEAD - 2)}last batch took {told}{several}")
    return lines


def _last_batch(suite: PlannedSuite) -> str:
    """``6m10s and $1.84`` of the newest finished batch of this suite; empty when there is none."""
    for folder in list_batches(suite.root)[:_LOOKED_AT]:
        record = _finished(folder)
        if record is None or record.suite_id != suite.compiled.suite.id or record.finished_at is None:
            continue
        trials = read_batch(folder).recorded
        took = figures.duration(figures.span_ms(record.started_at, record.finished_at))
        usd = run_cost(trials)
        money = f" and {figures.money(usd)}" if usd else ""
        return f"{took}{money} for {figures.plural(len(trials), 'trial')}"
    return ""


def _finished(folder: Path) -> BatchRecord | None:
    try:
        record = BatchRecord.model_validate_json((folder / "batch.json").read_bytes())
    except (OSError, ValueError):
        return None
    # A self-test runs no agent: its time says nothing about a run.
    return record if record.status == "finished" and not record.x.get("selfTest") else None
