"""What ``sphynx eval`` adds for skills: what it will take, the report after it, the gate on a baseline."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from sphynx.cli.drive import Run
from sphynx.cli.dry_run import expected, history
from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.github import Outcome
from sphynx.cli.render import skill
from sphynx.cli.reports import write_file
from sphynx.engine import BatchResult, find_batch, read_batch
from sphynx.engine.skill_evidence import skill_trials_of
from sphynx.engine.skills import skill_trials
from sphynx.errors import ExitCode, SphynxError, UsageError
from sphynx.results.gate import GateProblem
from sphynx.results.skill_export import exported
from sphynx.results.skill_gate import baseline_of, compare
from sphynx.results.skill_json import to_json
from sphynx.results.skills import SkillReport, SkillTrial, skill_reports

ASK_ABOVE = 100


def agree(run: Run) -> bool:
    """Say what a run of skills will take; above 100 trials ask first. False: nothing is to be started.

    ``UsageError`` where nobody can be asked and --yes was not given.
    """
    trials = skill_trials(run.plan)
    if not trials:
        return True
    for line in (f"  {expected(run.plan)}", *history(run.plan)):
        run.err.line(line)
    if trials <= ASK_ABOVE or run.request.yes or run.request.json:
        return True
    if not sys.stdin.isatty():
        raise UsageError(
            f"{trials:,} trials are more than {ASK_ABOVE}, nothing was started",
            hint="--yes runs them; --limit, --sample, --case and --trials take fewer",
        )
    return typer.confirm(f"run {trials:,} trials?", err=True)


def is_skill(result: BatchResult) -> bool:
    """Whether a batch ran a skill."""
    return bool(result.record.x.get("skill"))


def finish(run: Run, results: Sequence[BatchResult]) -> int:
    """Report on the skills that ran, write what was asked for, and gate on the baseline."""
    batches = [read_batch(result.folder) for result in results if is_skill(result)]
    if not batches:
        if run.request.baseline is not None:
            raise UsageError("--baseline is for skills, and no skill was run")
        return ExitCode.OK
    trials = skill_trials_of(batches)
    reports = skill_reports(trials)
    if not run.request.json:
        for report in reports:
            run.out.write("".join(line + "\n" for line in skill.terminal(report, run.out.style)))
    write_reports(run.request, reports, trials, os.environ)
    if run.request.baseline is not None:
        return _gate(run, reports)
    empty = [report.skill for report in reports if not _said_anything(report)]
    if empty:
        lead = run.err.style.paint("error:", "bold", "red")
        run.err.line(f"{lead} nothing was decided about {', '.join(empty)}")
        return ExitCode.ERROR
    return ExitCode.OK


def told(results: Sequence[BatchResult], outcomes: Sequence[Outcome], *, lost: bool) -> list[Outcome]:
    """What GitHub is told, skills with their report; it stands in the job summary already.

    ``lost``: a criterion of the baseline no longer holds.
    """
    texts = {
        result.record.id: skill.markdown(skill_reports(skill_trials_of([read_batch(result.folder)])))
        for result in results
        if is_skill(result)
    }
    gate = (GateProblem("a criterion of the baseline no longer holds"),) if lost else ()
    found: list[Outcome] = []
    for one in outcomes:
        text = texts.get(one.batch["id"]) if one.batch else None
        more = {"more": text, "told": True, "problems": (*one.problems, *gate)} if text is not None else {}
        found.append(replace(one, **more))
    return found


def _said_anything(report: SkillReport) -> bool:
    """Whether any criterion or query of the skill was decided."""
    return any(
        any(count.scored for row in agent.criteria for count in row.arms.values())
        or any(query.right.scored for query in agent.queries)
        for agent in report.agents
    )


def write_reports(
    request: EvalRequest, reports: Sequence[SkillReport], trials: Sequence[SkillTrial], environ: Any
) -> None:
    """``--markdown``, ``--skill-report``, ``--export-benchmark`` and the job summary."""
    text = skill.markdown(reports)
    if request.markdown is not None:
        write_file(request.markdown, text.encode("utf-8", "replace"))
    if request.skill_report is not None:
        write_file(request.skill_report, _json(to_json(reports)))
    if request.export_benchmark is not None:
        export(request.export_benchmark, reports, trials)
    summary = environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with Path(summary).open("a", encoding="utf-8", errors="replace") as out:
                out.write(text + "\n")
        except OSError as error:
            raise SphynxError(f"cannot write the job summary: {error.strerror or error}") from error


def export(folder: Path, reports: Sequence[SkillReport], trials: Sequence[SkillTrial]) -> None:
    """Write the viewers' files; several skills lie in a folder each."""
    stamp = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    for report in reports:
        root = folder / report.skill if len(reports) > 1 else folder
        for name, value in exported(report, trials, timestamp=stamp).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, _json(value))


def _gate(run: Run, reports: Sequence[SkillReport]) -> int:
    baseline = read_baseline(str(run.request.baseline), Path.cwd())
    lost, missing, notes = compare(baseline, reports)
    error = run.err.style.paint("error:", "bold", "red")
    for note in notes:
        run.err.line(f"  note: {note}")
    request = run.request
    fewer = bool(request.cases or request.skill.limit or request.skill.sample)
    for text in missing:
        run.err.line(f"  note: not run: {text}" if fewer else f"{error} not run any more: {text}")
    for one in lost:
        run.err.line(f"{error} no longer holds: {one.told}")
    failed = [_said_of(lost, "no longer holds", "no longer hold")] if lost else []
    if missing and not fewer:
        failed.append(_said_of(missing, "was not run", "were not run"))
    if failed:
        run.err.line(f"{error} gate failed: {', '.join(failed)}")
        if missing and not fewer:
            run.err.line(f"  hint: sphynx skill accept --out {request.baseline} accepts what there is now")
        return ExitCode.GATE
    run.err.line("every criterion of the baseline that was run still holds")
    return ExitCode.OK


def _said_of(criteria: Sequence[object], one: str, more: str) -> str:
    if len(criteria) == 1:
        return f"1 criterion of the baseline {one}"
    return f"{len(criteria)} criteria of the baseline {more}"


def read_baseline(given: str, cwd: Path) -> dict[str, Any]:
    """A file that ``sphynx skill accept`` wrote, or a batch whose results are taken as accepted."""
    path = cwd / given
    if path.is_file():
        try:
            value = json.loads(path.read_bytes())
        except ValueError as error:
            raise UsageError(
                f"{given} is no baseline: {error}", hint="sphynx skill accept writes one"
            ) from None
        if not isinstance(value, dict):
            raise UsageError(f"{given} is no baseline", hint="sphynx skill accept writes one")
        return value
    trials = skill_trials_of([read_batch(find_batch(cwd, given))])
    if not trials:
        raise UsageError(f"batch {given} ran no skill")
    return baseline_of(skill_reports(trials))


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
