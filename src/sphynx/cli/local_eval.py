"""``sphynx eval --local``: plan, then dry run, self-test or the run itself."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from sphynx.cli import github
from sphynx.cli.conclusion import conclude, stopped
from sphynx.cli.drive import Run, drive
from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.import_limit import import_limit
from sphynx.cli.option_rules import refuse_idle_skill_options
from sphynx.cli.render import figures, problems
from sphynx.cli.render.board import Board
from sphynx.cli.reports import Reports
from sphynx.cli.results_view import print_batch
from sphynx.cli.screen import Screen, mode_for
from sphynx.engine import LocalPlan, Need, Stop, plan_resume, run_plan
from sphynx.engine.other_agents import missing_of, missing_of_judges
from sphynx.engine.skills import plan_paths, skill_trials
from sphynx.errors import ExitCode, UsageError
from sphynx.settings.server import api_key

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sphynx.cli.recording import Recording


def start(request: EvalRequest) -> int:
    """Do what was asked and give the exit code."""
    plan = _planned(request)
    run = Run(request, plan)
    for note in plan.notes:
        run.err.line(problems.note_line(note, run.err.style))
    if request.dry_run:
        from sphynx.cli import dry_run

        return dry_run.report(run)
    if request.self_test:
        from sphynx.cli import self_test

        return self_test.report(run)
    if not api_key(os.environ) and (missing := missing_of(plan)):
        raise missing_error(missing)
    if skill_trials(plan):
        from sphynx.cli import skill_run

        if not skill_run.agree(run):
            run.err.line("nothing was started")
            return ExitCode.OK
    stop = Stop()

    def say(text: str) -> None:
        run.err.line(problems.note_line(text, run.err.style))

    with _recorded(run, stop, say) as recording:
        if missing := missing_of(plan):
            raise missing_error(missing)
        for need in missing_of_judges(plan):
            say(f"{need.name} is not set ({need.why}): trials it should judge will be void")
        return _evaluate(run, stop, recording)


def _planned(request: EvalRequest) -> LocalPlan:
    """The plan of what was asked, with what would do nothing in it refused."""
    options = request.options()
    with import_limit(request.timeout_s, options.cwd):
        if request.resume is not None:
            plan = plan_resume(request.resume, options)
        else:
            plan = plan_paths(list(request.paths), options, request.skill)
    refuse_idle_skill_options(request, plan)
    if request.baseline is not None:
        from sphynx.cli.skill_run import read_baseline

        read_baseline(request.baseline, options.cwd)  # what is no baseline is told before the trials
    return plan


def _recorded(run: Run, stop: Stop, say: Callable[[str], None]) -> AbstractContextManager[Recording | None]:
    """The run's batches on a server when a key for one is set."""
    if run.request.resume is not None or not api_key(os.environ):
        return nullcontext()
    from sphynx.cli.recording import recorded

    return recorded(run.plan, stop, say)


def missing_error(missing: Sequence[Need]) -> UsageError:
    """The refusal of a run that lacks variables."""
    names = list(dict.fromkeys(need.name for need in missing))
    why = ", ".join(dict.fromkeys(need.why for need in missing if need.why))
    verb = "is" if len(names) == 1 else "are"
    message = f"{', '.join(names)} {verb} not set{f' ({why})' if why else ''}, nothing was started"
    return UsageError(message, hint=" ".join(["export", *(f"{name}=..." for name in names)]))


def _evaluate(run: Run, stop: Stop, recording: Recording | None) -> int:
    # Without this, small records of trials would have all modules and plans looked through again and again.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    options = run.plan.options
    reports = Reports(run.request, run.plan, run.out)

    def batch_done(board: Board) -> None:
        if not run.request.json and not stop.stopped:
            screen.aside(lambda: print_batch(run.out, board, _took(run, board), run.folder(board.batch.id)))

    screen = Screen(
        run.err,
        mode_for(run.err.style, json=run.request.json),
        jobs=options.jobs,
        in_order=options.jobs == 1 or run.plan.total == 1,
        earlier={suite.batch_id: suite.earlier for suite in run.plan.suites},
        on_batch=batch_done,
    )
    sinks = [screen, reports, *([recording] if recording else [])]
    results, signal_code = drive(run, screen, stop, lambda: run_plan(run.plan, sinks, stop))
    if stop.stopped:
        return stopped(run, results, reports, stop.reason or "", signal_code)
    outcomes: list[github.Outcome] | None = [] if github.here(os.environ) else None
    code = conclude(run, results, reports, outcomes)
    if run.request.baseline is not None or any(result.record.x.get("skill") for result in results):
        from sphynx.cli import skill_run

        code = code or skill_run.finish(run, results)
        if outcomes is not None:
            outcomes = skill_run.told(results, outcomes, lost=code == ExitCode.GATE)
    if outcomes is not None:
        _tell_github(run, outcomes, recording)
    return code


def _took(run: Run, board: Board) -> float:
    """Milliseconds, as ``sphynx show`` has them; of a resumed batch only those of this run."""
    batch = board.batch
    if run.request.resume is not None or batch.finished_at is None:
        return run.elapsed_ms
    return figures.span_ms(batch.started_at, batch.finished_at)


def _tell_github(run: Run, outcomes: Sequence[github.Outcome], recording: Recording | None) -> None:
    links = recording.links if recording is not None else {}
    batches = [one.batch["id"] if one.batch else "" for one in outcomes]
    linked = [replace(one, link=links.get(batch)) for one, batch in zip(outcomes, batches, strict=True)]

    def say(text: str) -> None:
        run.err.line(problems.note_line(text, run.err.style))

    github.tell(os.environ, linked, say)
