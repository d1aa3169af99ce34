"""The check ``command("...")``: a shell command in the workspace that passes when it exits 0."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from sphynx.contracts import ExecResult, Sandbox
from sphynx.engine.checks import Scored, value
from sphynx.engine.durations import short_duration
from sphynx.guest.search_path import SETTLE
from sphynx.schema.records import VerifyStep
from sphynx.suite.checks import Command

KEEP = 256_000
NAME_LENGTH = 200


async def run_command(
    box: Sandbox,
    check: Command,
    *,
    env: Mapping[str, str],
    show: Callable[[bytes], None] | None = None,
) -> Scored:
    """Run it with ``bash -c``. Past its time limit it decided nothing, so the trial is void.

    Bash and what it runs are looked for where the agent could not put anything first, and bash started this
    way reads no file of the agent's.
    """
    started = time.time() * 1000
    result = await box.exec(
        ["/bin/sh", "-c", SETTLE + 'exec bash -c "$2"', "sh", box.home, check.command],
        cwd=box.workspace,
        env=env,
        timeout_ms=check.timeout_ms,
        on_stdout=show,
        on_stderr=show,
        keep=KEEP,
    )
    record = _record(check, result, started)
    steps = [VerifyStep(command=check.command, exit_code=result.exit_code)]
    if result.timed_out:
        reason = f"The check ran past its time limit of {short_duration(check.timeout_ms)}"
        return Scored(
            "void", [record], reason=reason, exit_code=-1, void_fields=["validator"], verify_steps=steps
        )
    passed = result.exit_code == 0
    return Scored(
        "passed" if passed else "failed", [record], exit_code=0 if passed else 1, verify_steps=steps
    )


def untried(check: Command) -> dict[str, Any]:
    """The record of a command that never ran because the trial ended before it."""
    record = _blank(check)
    record.update(status="skipped", message="The trial ended before this check could run")
    return record


def _blank(check: Command) -> dict[str, Any]:
    return {
        "id": "command:0",
        "index": 0,
        "name": check.command.strip().splitlines()[0][:NAME_LENGTH] if check.command.strip() else "command",
        "kind": "command",
        "status": "queued",
        "startedAt": None,
        "durationMs": None,
        "message": "",
        "exitCode": None,
        "truncated": False,
        "input": value(check.command, "captured"),
        "output": value(),
        "error": None,
        "calls": [],
        "logs": [],
    }


def _record(check: Command, result: ExecResult, started: float) -> dict[str, Any]:
    record = _blank(check)
    stdout, stderr = (
        _captured(result.stdout, result.stdout_bytes),
        _captured(result.stderr, result.stderr_bytes),
    )
    status, message = "passed", ""
    if result.timed_out:
        status, message = "error", f"ran past its time limit of {short_duration(check.timeout_ms)}"
    elif result.exit_code != 0:
        last = _last_line(stderr["text"]) or _last_line(stdout["text"])
        status, message = "failed", f"exited with status {result.exit_code}" + (f": {last}" if last else "")
    record.update(
        status=status,
        message=message,
        startedAt=started,
        durationMs=round(result.duration_ms),
        exitCode=result.exit_code,
        output=stdout,
        error=stderr if stderr["text"] else None,
    )
    record["truncated"] = stdout["truncated"] or stderr["truncated"]
    return record


def _captured(data: bytes, total: int) -> dict[str, Any]:
    text = value(data.decode("utf-8", "replace"), "captured")
    text["truncated"] = total > len(data)
    return text


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
