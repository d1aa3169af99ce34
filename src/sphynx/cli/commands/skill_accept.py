"""``sphynx skill accept``: take a run's results as what has to hold from now on."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode, UsageError

DEFAULT_FILE = Path("skill-baseline.json")


def accept(
    batches: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BATCH]...", help="Batches of skills; none: those of the newest run"),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write it")] = DEFAULT_FILE,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Write what each criterion did with the skill as a baseline for `sphynx eval --baseline FILE`."""
    from sphynx.cli.out import stderr
    from sphynx.cli.render import figures
    from sphynx.cli.reports import write_file
    from sphynx.engine import find_batch, read_batch
    from sphynx.engine.skill_evidence import newest_skill_batches, skill_trials_of
    from sphynx.results.skill_gate import baseline_of
    from sphynx.results.skills import skill_reports

    cwd = Path.cwd()
    if batches:
        found = [read_batch(find_batch(cwd, name)) for name in batches]
    else:
        found = next((got for root in (cwd, *cwd.parents) if (got := newest_skill_batches(root))), [])
    trials = skill_trials_of(found)
    if not trials:
        raise UsageError("there is no run of a skill to accept", hint="sphynx eval --local ./my-skill")
    baseline = baseline_of(skill_reports(trials))
    write_file(out, json_module.dumps(baseline, indent=2, ensure_ascii=False).encode() + b"\n")
    count = sum(
        len(case)
        for skill in baseline["skills"].values()
        for agent in skill["agents"].values()
        for case in agent.values()
    )
    told = figures.plural(count, "criterion") if count == 1 else f"{count} criteria"
    stderr().line(f"wrote {out}: {told} of {figures.plural(len(trials), 'trial')}")
    return ExitCode.OK
