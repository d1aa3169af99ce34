"""``sphynx regrade``: changed checks and judges on trials that have run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sphynx.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sphynx.cli.render.style import Style
    from sphynx.engine.regrade import RegradedTrial


def regrade(
    batch: Annotated[str, typer.Argument(metavar="BATCH", help="A batch id, its beginning, or its folder")],
    judges_only: Annotated[
        bool, typer.Option("--judges-only", help="Ask the judges again; code checks keep their verdict")
    ] = False,
    case: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this case; repeat for more")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, metavar="N", help="Trials at a time")
    ] = None,
    isolate: Annotated[bool, typer.Option("--isolate", help="Run checks inside bubblewrap (Linux)")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Grade recorded trials again with the eval file as it is now. No agent runs; new verdicts are written
    beside the old ones, never over them.

    Exit codes: 0 every trial that was graded passed, 2 one did not, 1 none could be graded.
    """
    import asyncio
    import json as json_module

    from sphynx.cli.out import stderr, stdout
    from sphynx.cli.render import figures
    from sphynx.cli.render.problems import note_line
    from sphynx.engine.options import LocalOptions, default_jobs
    from sphynx.engine.regrade import plan_regrade, run_regrade

    options = LocalOptions(
        jobs=jobs or default_jobs(), cases=tuple(case or ()), cwd=Path.cwd(), isolate=isolate
    )
    plan = plan_regrade(batch, options, judges_only=judges_only)
    out, err = stdout(), stderr()
    for note in plan.notes:
        err.line(note_line(note, err.style))
    err.line(f"grading {figures.plural(len(plan.trials), 'trial')} of {plan.batch.id} again")
    trials = asyncio.run(run_regrade(plan))
    if json:
        out.line(json_module.dumps([_value(trial) for trial in trials], indent=2, ensure_ascii=False))
    else:
        for line in _lines(trials, out.style):
            out.line(line)
    graded = [trial for trial in trials if trial.new is not None]
    if not graded:
        raise UsageError(f"no trial could be graded again: {trials[0].left_out}")
    passed = all(trial.new is not None and trial.new.status == "passed" for trial in graded)
    return ExitCode.OK if passed else ExitCode.GATE


def _lines(trials: list[RegradedTrial], style: Style) -> list[str]:
    from sphynx.cli.render import figures
    from sphynx.cli.render.style import words
    from sphynx.cli.render.text import one_line

    lines: list[str] = []
    notes: dict[str, None] = {}
    for trial in trials:
        old = trial.old
        name = f"{old.case_id} on {old.variant}, trial {old.ordinal}"
        if trial.new is None:
            lines.append(f"  {name}: {words(old.status)}, left out: {one_line(trial.left_out)}")
            continue
        notes.update(dict.fromkeys(trial.new.notes))
        now = words(trial.new.status)
        said = f"{words(old.status)} -> {style.paint(now, 'bold')}" if trial.changed else f"still {now}"
        lines.append(f"  {name}: {said}")
        for check in trial.new.validations:
            if check["status"] in ("failed", "error"):
                lines.append(f"    {check['name']}: {check['status']}: {one_line(check['message'])}")
    lines += [f"  note: {note}" for note in notes]
    changed = sum(trial.changed for trial in trials)
    graded = sum(trial.new is not None for trial in trials)
    lines += ["", f"  {figures.plural(graded, 'trial')} graded again, {changed} changed"]
    written = next((trial.file for trial in trials if trial.file is not None), None)
    return [*lines, f"  beside each trial.json: {written.name}"] if written else lines


def _value(trial: RegradedTrial) -> dict[str, Any]:
    new = trial.new
    value: dict[str, Any] = {
        "trial": trial.old.id,
        "case": trial.old.case_id,
        "variant": trial.old.variant,
        "ordinal": trial.old.ordinal,
        "previousStatus": trial.old.status,
        "status": None if new is None else new.status,
        "changed": trial.changed,
        "leftOut": trial.left_out or None,
        "file": None if trial.file is None else str(trial.file),
    }
    if new is not None:
        value |= {"reason": new.reason, "notes": new.notes, "validations": new.validations}
    return value
