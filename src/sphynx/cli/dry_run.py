"""``sphynx eval --dry-run``: what would run and what it needs. Starts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sphynx.cli.drive import Run
from sphynx.cli.machine import home_relative
from sphynx.cli.render import figures
from sphynx.cli.render.problems import relative
from sphynx.cli.render.style import Style
from sphynx.cli.render.summary import run_cost
from sphynx.cli.render.text import one_line, pad, width
from sphynx.engine import LocalPlan, Need, PlannedSuite, list_batches, read_batch
from sphynx.engine.batch import harness_version
from sphynx.engine.judging import missing_for
from sphynx.engine.other_agents import missing_of, missing_of_judges
from sphynx.engine.skills import judge_calls, skill_trials
from sphynx.errors import ExitCode
from sphynx.registry import load_harness
from sphynx.sandboxes.local_root import LocalRoot, install_key
from sphynx.schema.records import BatchRecord

_WORD = 8
_LOOKED_AT = 50
"""Newest batches that are searched for one of the same suite."""


def report(run: Run) -> int:
    """Print the plan; 1 when a variable is missing."""
    out, plan = run.out, run.plan
    for suite in plan.suites:
        out.line(head(suite, out.style, plan))
    facts = [*_needs(plan, out.style), *_judges(plan, out.style), *_harnesses(plan)]
    takes = [f"  {pad('takes', _WORD)}{expected(plan)}"] if skill_trials(plan) else []
    for line in _mocks(plan) + _lines(facts) + takes + history(plan):
        out.line(line)
    names = {need.name for need in [*missing_of(plan), *missing_of_judges(plan)]}
    if not names:
        return ExitCode.OK
    verb = "is" if len(names) == 1 else "are"
    lead = run.err.style.paint("error:", "bold", "red")
    run.err.line(f"{lead} {figures.plural(len(names), 'key')} {verb} missing, nothing was started")
    return ExitCode.ERROR


def head(suite: PlannedSuite, style: Style, plan: LocalPlan) -> str:
    parts = (
        figures.plural(len(suite.cases), "case"),
        figures.plural(len(suite.variants), "variant"),
        figures.plural(suite.trials, "trial"),
    )
    left = "" if suite.remaining == suite.total else f", {suite.remaining} left to run"
    name = style.paint(one_line(suite.compiled.suite.name), "bold")
    file = relative(str(suite.compiled.file), plan.options.cwd)
    return f"{name} ({file})  {' × '.join(parts)} = {figures.plural(suite.total, 'trial')}{left}"


class _Fact(NamedTuple):
    """One line: the word it stands under, what it is about, what is known of it."""

    word: str
    name: str
    state: str


def _mocks(plan: LocalPlan) -> list[str]:
    """``mocks   mcp users, cli pricing``: all of them in one line, each once."""
    mocks = [mock for suite in plan.suites for mock in suite.compiled.suite.mocks]
    names = dict.fromkeys(f"{mock.sphynx_kind} {mock.label}" for mock in mocks)
    return [f"  {pad('mocks', _WORD)}{', '.join(names)}"] if names else []


def _needs(plan: LocalPlan, style: Style) -> list[_Fact]:
    names: dict[str, Need] = {}
    for need in plan.needs:
        names.setdefault(need.name, need)
    found: list[_Fact] = []
    for name, need in names.items():
        why = f"   {need.why}" if need.why else ""
        if need.found:
            login = plan.options.use_login and not plan.options.env.get(name, "").strip()
            where = "as a login" if login else "in the shell"
            state = f"{style.paint('found', 'green')} {where}{why}"
        else:
            state = f"{style.paint('missing', 'red')}{why}   hint: export {name}=..."
        found.append(_Fact("needs", name, state))
    return found


def _judges(plan: LocalPlan, style: Style) -> list[_Fact]:
    """The judges and whether they can be asked. A key they lack is no reason not to start, as documented."""
    found: dict[str, _Fact] = {}
    for judge in [judge for suite in plan.suites for case in suite.cases for judge in case.case.judges]:
        missing = missing_for(judge, plan.options.env)
        asked = f"{judge.harness or judge.provider}/{judge.model}"
        times = f", {judge.votes} times" if judge.votes > 1 else ""
        without = style.paint(f"   {missing}", "red") if missing else ""
        found.setdefault(judge.name, _Fact("judges", judge.name, f"{asked}{times}{without}"))
    return list(found.values())


def _harnesses(plan: LocalPlan) -> list[_Fact]:
    """The agents that are installed once per machine, and whether they are."""
    root = LocalRoot(environ=plan.options.env).path / "harness"
    found: dict[str, _Fact] = {}
    for variant in [compiled.variant for suite in plan.suites for compiled in suite.variants]:
        if not hasattr(load_harness(variant.harness), "recipe"):
            continue
        version = harness_version(variant)
        there = (root / install_key(f"{variant.harness}@{version}")).is_dir()
        state = "installed" if there else f"will be installed into {home_relative(root)}"
        name = f"{variant.harness} {version}"
        found.setdefault(name, _Fact("harness", name, state))
    return list(found.values())


def _lines(facts: Sequence[_Fact]) -> list[str]:
    """Aligned, each word only where it begins."""
    room = max((width(fact.name) for fact in facts), default=0)
    lines: list[str] = []
    for before, fact in zip([None, *facts], facts, strict=False):
        word = "" if before is not None and before.word == fact.word else fact.word
        lines.append(f"  {pad(word, _WORD)}{pad(fact.name, room)}   {fact.state}")
    return lines


def expected(plan: LocalPlan) -> str:
    """``30 trials, up to 24 judge calls, 2 batches``."""
    calls = judge_calls(plan)
    parts = [figures.plural(plan.total, "trial")]
    parts.append(f"up to {figures.plural(calls, 'judge call')}" if calls else "no judge calls")
    if len(plan.suites) > 1:
        parts.append(f"{len(plan.suites)} batches")
    return ", ".join(parts)


def history(plan: LocalPlan) -> list[str]:
    """What the last batch of each suite took."""
    lines: list[str] = []
    for suite in plan.suites:
        told = _last_batch(suite)
        if told:
            several = f" ({suite.compiled.suite.id})" if len(plan.suites) > 1 else ""
            lines.append(f"  {pad('history' if not lines else '', _WORD)}last batch took {told}{several}")
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
