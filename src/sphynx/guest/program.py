"""Run one function of an eval file in this process, which was started or forked for it alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from sphynx.errors import UsageError
from sphynx.guest import limits
from sphynx.guest.agent import run_turn
from sphynx.guest.bundle import LoadedBundle
from sphynx.guest.checks import Planned, run_checks
from sphynx.guest.context import Context
from sphynx.guest.prepare import run_prepare, run_solution
from sphynx.guest.protocol import EXIT_FAILED, Emit, Outbox
from sphynx.guest.search_path import settled


def run_op(loaded: LoadedBundle, request: Mapping[str, Any], emit: Emit) -> int:
    """Run the request (see :mod:`sphynx.guest.protocol`) and give the exit code.

    The caller has set the environment, descriptors 0 to 2 and the process's place; it ends the process with
    ``os._exit`` afterwards, so that no thread a check left behind can hold it. Frames go to ``emit``, the
    last one is ``done``.
    """
    outbox = Outbox(emit)
    _unbuffered()
    try:
        _enter(request["workspace"])
        code = _run(loaded, request, outbox)
    except UsageError as error:
        outbox.send({"t": "failed", "message": error.message, "status": None})
        code = EXIT_FAILED
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # the author closed it, or nobody reads it any more
    outbox.send({"t": "done"})
    return code


def _run(loaded: LoadedBundle, request: Mapping[str, Any], outbox: Outbox) -> int:
    case = loaded.case(request["suite"], request["case"])
    if request["op"] == "mocks":
        from sphynx.guest.mocks.serving import run_mocks

        suite = loaded.suites[request["suite"]]
        return run_mocks(suite, case, outbox, home=request["home"])
    payload = request.get("payload") or {}
    place = {"workspace": request["workspace"], "home": request["home"], "tree": loaded.tree}
    op = request["op"]
    if op == "checks":
        os.environ["PATH"] = settled(os.environ.get("PATH", os.defpath), request["home"])
        context = Context(payload, **place)
        capture = payload.get("capture", True)
        return run_checks(_planned(case, payload), context, outbox, capture=capture, tree=loaded.tree)
    if op == "turn":
        return run_turn(_agent(loaded, request["suite"], payload), payload, outbox, **place)
    fn, run = (case.prepare, run_prepare) if op == "prepare" else (case.solution, run_solution)
    if not callable(fn):
        raise UsageError(f'{loaded.entry}: case "{case.id}" has no {op} function')
    return run(fn, payload, outbox, **place)


def _agent(loaded: LoadedBundle, suite: int, payload: Mapping[str, Any]) -> Any:
    """The function of the variant at the payload's place."""
    variants = loaded.suites[suite].variants
    place = payload.get("variant", -1)
    fn = variants[place].function if 0 <= place < len(variants) else None
    if fn is None:
        raise UsageError(f"{loaded.entry}: variant number {place} is no function")
    return fn


def _planned(case: Any, payload: Mapping[str, Any]) -> list[Planned]:
    """The checks asked for, with their functions; all of the case's when the payload names none."""
    there = {check.index: check for check in case.checks}
    asked = payload.get("checks")
    if asked is None:
        asked = [{"index": index} for index in there]
    planned: list[Planned] = []
    for wanted in asked:
        check = there.get(wanted["index"])
        if check is None:
            raise UsageError(f'case "{case.id}" has no check number {wanted["index"]}')
        timeout_ms = wanted.get("timeout_ms") or check.timeout_ms or limits.DEFAULT_CHECK_MS
        planned.append(Planned(check.fn, check.index, wanted.get("name") or check.name, timeout_ms))
    return planned


def _enter(workspace: str) -> None:
    try:
        os.chdir(workspace)
    except OSError as error:
        raise UsageError(f"the workspace {workspace} cannot be entered: {error.strerror}") from None


def _unbuffered() -> None:
    """Have what a function prints leave at once and never fail for a character the stream cannot write."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=True)
