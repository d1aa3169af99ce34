"""Options of ``sphynx eval`` that would do nothing beside others: refused instead of ignored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sphynx.engine import LocalPlan
from sphynx.engine.skills import decided_by_files, skill_trials
from sphynx.errors import UsageError

if TYPE_CHECKING:
    from sphynx.cli.eval_request import EvalRequest

_DECIDED_BY_A_FILE = {
    "--agent": "agents", "--arms": "arms", "--old-ref": "old", "--skill-use": "use", "--judge": "judge",
}  # fmt: skip
"""Options for a skill's folder, and what a ``skill_suite()`` says instead."""


def refuse_idle_reports(request: EvalRequest) -> None:
    """Reports of a command that runs no trials, or two reports in one file."""
    files = _files(request)
    for name, asked in (("--dry-run", request.dry_run), ("--self-test", request.self_test)):
        idle = [*files, *(["--baseline"] if request.baseline is not None else [])]
        if asked and idle:
            raise UsageError(
                f"{name} writes no report; it cannot be used with {idle[0]}",
                hint=f"the exit code of {name} says how it went",
            )
    written: dict[str, str] = {}
    for name, path in files.items():
        other = written.setdefault(os.path.realpath(path), name)
        if other != name:
            raise UsageError(f"{other} and {name} name the same file, {path}", hint="name two files")


def _files(request: EvalRequest) -> Mapping[str, Path]:
    given = {
        "--output": request.output, "--junit": request.junit, "--markdown": request.markdown,
        "--skill-report": request.skill_report, "--export-benchmark": request.export_benchmark,
    }  # fmt: skip
    return {name: path for name, path in given.items() if path is not None}


def refuse_idle_skill_options(request: EvalRequest, plan: LocalPlan) -> None:
    """Options for skills where none runs, or where the file that names the skill decides."""
    given = request.skill_options
    if not given:
        return
    if not skill_trials(plan):
        raise UsageError(
            f"{given[0]} is for skills, and no skill is among what would run; nothing was started",
            hint="name a skill's folder, such as ./my-skill, or leave the option out",
        )
    deciding = decided_by_files(plan)
    fixed = next((name for name in given if name in _DECIDED_BY_A_FILE), None)
    if fixed and deciding and not request.skills:
        raise UsageError(
            f"{fixed} is for skills named by their folder; the skill_suite() in {deciding[0]} decides itself",
            hint=f"set {_DECIDED_BY_A_FILE[fixed]}= in {deciding[0]}, or name the skill's folder",
        )
