"""Run a case's code checks in its sandbox and say what they mean for the trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sphynx.contracts import ExecResult, GuestRequest, Sandbox
from sphynx.schema.records import Score, VerifyStep
from sphynx.suite.checks import Check

START_MS = 30_000
"""Time for the check program to start and import the eval file, beside the checks' own limits."""

_OPEN = ("queued", "running")


@dataclass(slots=True)
class Scored:
    """What the checks said. ``records`` are ``EvalValidation`` shapes, not yet redacted or cut."""

    status: Literal["passed", "failed", "void"]
    records: list[dict[str, Any]] = field(default_factory=list)
    reason: str | None = None
    exit_code: int = 0
    void_fields: list[str] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    verify_steps: list[VerifyStep] = field(default_factory=list)


def value(text: str = "", state: str = "unavailable", form: str = "text") -> dict[str, Any]:
    """A ``ValidationValue``."""
    return {"text": text, "format": form, "state": state, "truncated": False}


def blank(check: Check, status: str, message: str = "") -> dict[str, Any]:
    """An ``EvalValidation`` of a check that has not reported anything."""
    return {
        "id": f"code:{check.index}",
        "index": check.index,
        "name": check.name,
        "kind": "code",
        "status": status,
        "startedAt": None,
        "durationMs": None,
        "message": message,
        "exitCode": None,
        "truncated": False,
        "input": value(),
        "output": value(),
        "error": None,
        "calls": [],
        "logs": [],
    }


def skipped(checks: Sequence[Check]) -> list[dict[str, Any]]:
    """Records of checks that never ran because the trial ended before them."""
    return [blank(check, "skipped", "The trial ended before this check could run") for check in checks]


async def run_checks(
    box: Sandbox,
    checks: Sequence[Check],
    *,
    suite: int,
    case: str,
    payload: Mapping[str, Any],
    env: Mapping[str, str],
    show: Callable[[bytes], None] | None = None,
) -> Scored:
    """Run every check, also after one failed or took the program down, and decide.

    All share one program. If one ends it, the checks that had not begun get a new one, so each keeps its own
    result. Any check in error makes the trial void; else it passes when all passed.
    """
    found = {f"code:{check.index}": blank(check, "queued") for check in checks}
    waiting = list(checks)
    while waiting:
        result, said = await _run_once(box, waiting, found, suite, case, payload, env, show)
        left = [check for check in waiting if found[f"code:{check.index}"]["status"] == "queued"]
        problem = _process_problem(result, said)
        stuck = len(left) == len(waiting)
        for check in waiting:
            record = found[f"code:{check.index}"]
            if record["status"] == "running" or (record["status"] == "queued" and stuck):
                text = f'check "{check.name}" {problem}'
                record.update(status="error", message=text, exitCode=1, error=value(text, "captured"))
        waiting = [] if stuck else left
    return decide(list(found.values()))


async def _run_once(
    box: Sandbox,
    checks: Sequence[Check],
    found: dict[str, dict[str, Any]],
    suite: int,
    case: str,
    payload: Mapping[str, Any],
    env: Mapping[str, str],
    show: Callable[[bytes], None] | None,
) -> tuple[ExecResult, dict[str, Any]]:
    said: dict[str, Any] = {}

    def on_frame(frame: dict[str, Any]) -> None:
        kind = frame.get("t")
        record = frame.get("record")
        if kind == "validation" and isinstance(record, dict) and record.get("id") in found:
            if found[record["id"]]["status"] in _OPEN:
                found[record["id"]] = record
        elif kind in ("failed", "result", "done"):
            said[str(kind)] = frame

    listed = [{"index": c.index, "name": c.name, "timeout_ms": c.timeout_ms} for c in checks]
    request = GuestRequest(
        op="checks",
        suite=suite,
        case=case,
        payload={**payload, "checks": listed},
        env=env,
        timeout_ms=START_MS + sum(c.timeout_ms for c in checks),
    )
    return await box.guest(request, on_frame=on_frame, on_output=show), said


def _process_problem(result: ExecResult, said: Mapping[str, Any]) -> str:
    failed = said.get("failed")
    if failed:
        return f"could not run: {failed.get('message') or 'the check program did not start'}"
    if result.timed_out:
        return "ran past its time limit"
    if result.exit_code > 128:
        return f"did not finish: signal {result.exit_code - 128} ended its program"
    return f"did not finish: its program exited with code {result.exit_code}"


def decide(records: list[dict[str, Any]]) -> Scored:
    """Void when any check could not finish, else failed when any failed, else passed."""
    scores = [score for record in records if (score := _score(record)) is not None]
    broken = next((record for record in records if record["status"] == "error"), None)
    if broken is not None:
        return Scored(
            "void", records, reason=broken["message"], exit_code=-1, void_fields=["validator"], scores=scores
        )
    if any(record["status"] != "passed" for record in records):
        return Scored("failed", records, exit_code=1, scores=scores)
    return Scored("passed", records, scores=scores)


def _score(record: dict[str, Any]) -> Score | None:
    extra = record.pop("x-sphynx", None)
    if not isinstance(extra, dict):
        return None
    score, metrics = extra.get("score"), extra.get("metrics") or {}
    if score is None and not metrics:
        return None
    return Score(check=record["name"], score=score, metrics=metrics)
