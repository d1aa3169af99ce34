"""``sphynx eval --dry-run`` without ``--local``: which batches a server would be asked to run."""

from __future__ import annotations

import os

from sphynx.cli.dry_run import head
from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.out import stderr, stdout
from sphynx.cli.render import problems
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import pad, width
from sphynx.client import Sphynx
from sphynx.engine import LocalPlan
from sphynx.engine.skills import plan_paths
from sphynx.errors import ExitCode, SphynxError, UsageError
from sphynx.settings.server import api_key, base_url

_WORD = 8


def report(request: EvalRequest) -> int:
    """Print the plan. Starts nothing; without a key it asks nobody either."""
    out, err = stdout(), stderr()
    if request.cases and not request.paths:
        raise UsageError(
            "--dry-run reads eval files, and a stored case has none here",
            hint=f"sphynx cases get {request.cases[0]}",
        )
    plan = plan_paths(list(request.paths), request.options(), request.skill)
    for note in plan.notes:
        err.line(problems.note_line(note, err.style))
    for suite in plan.suites:
        out.line(head(suite, out.style, plan))
    if not api_key(os.environ):
        out.line(f"  {pad('server', _WORD)}{base_url(os.environ)}, SPHYNX_API_KEY is not set")
        lines, missing = _needs(plan, None, out.style), 0
    else:
        with Sphynx() as sphynx:
            organization = sphynx.whoami().organization
            out.line(f"  {pad('server', _WORD)}{sphynx.base_url}, organization {organization.name}")
            stored = _stored(sphynx)
        lines = _needs(plan, stored, out.style)
        names = {need.name for need in plan.needs}
        missing = 0 if stored is None or None in stored else len(names - stored)
    for line in lines:
        out.line(line)
    if missing:
        lead = err.style.paint("error:", "bold", "red")
        verb = "variable is" if missing == 1 else "variables are"
        err.line(f"{lead} {missing} {verb} missing at the server, nothing was started")
        return ExitCode.ERROR
    err.line("nothing was started")
    return ExitCode.OK


def _stored(sphynx: Sphynx) -> set[str | None] | None:
    """Names of the variables there, ``None`` among them when a login may stand in for a key.

    ``None`` when this key may not list them.
    """
    try:
        found = sphynx.environment.list()
    except SphynxError as error:
        if error.status == 403:
            return None
        raise
    names: set[str | None] = {one.name for one in found.variables}
    return names | {None} if found.subscriptions else names


def _needs(plan: LocalPlan, stored: set[str | None] | None, style: Style) -> list[str]:
    needs = {need.name: need for need in plan.needs}
    room = max((width(name) for name in needs), default=0)
    lines: list[str] = []
    for name, need in needs.items():
        why = f"   {need.why}" if need.why else ""
        if stored is None:
            state = "not looked up"
        elif name in stored:
            state = style.paint("stored", "green")
        else:
            state = style.paint("not stored", "yellow" if None in stored else "red")
            why += f"   hint: sphynx env set {name}"
        lines.append(f"  {pad('needs' if not lines else '', _WORD)}{pad(name, room)}   {state}{why}")
    return lines
