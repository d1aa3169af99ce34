"""The case's own setup: restore its cache, run ``prepare`` in the sandbox, save the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sphynx.contracts import GuestRequest, Sandbox
from sphynx.engine.credentials import is_plain_url, strings
from sphynx.engine.shown import Shown
from sphynx.errors import StageError
from sphynx.redaction import Redactor

LIMIT_MS = 1_800_000
STAGE = "prepare"


class CaseCache(Protocol):
    """Keeps one folder of a case between trials. ``save`` never replaces what another trial saved."""

    async def restore(self, box: Any, key: str, path: str) -> bool: ...
    async def save(self, box: Any, key: str, path: str) -> bool: ...


async def run_prepare(
    box: Sandbox,
    *,
    suite: int,
    case: str,
    cached: bool,
    env: Mapping[str, str],
    redactor: Redactor,
    show: Callable[[str], None],
    api: Mapping[str, str],
) -> dict[str, Any]:
    """Run the case's ``prepare`` and give what it returned. Its texts are secrets from here on.

    Plain addresses stay readable: ``http://localhost:4173`` gives nobody anything.

    Raises ``StageError`` with the prepare's own reason when it fails.
    """
    shown = Shown(redactor, show)
    answer: dict[str, dict[str, Any]] = {}

    def on_frame(frame: dict[str, Any]) -> None:
        answer[str(frame.get("t"))] = frame

    payload = {"cached": cached, "api": dict(api)}
    request = GuestRequest(
        op="prepare", suite=suite, case=case, payload=payload, env=env, timeout_ms=LIMIT_MS
    )
    result = await box.guest(request, on_frame=on_frame, on_output=shown.feed)
    shown.close()
    if result.timed_out:
        raise StageError("The prepare step took longer than 30m", stage=STAGE, cause="setup")
    failed = answer.get("failed")
    if failed:
        raise StageError(redactor.text(str(failed.get("message"))), stage=STAGE, cause="setup")
    if "prepared" not in answer or "done" not in answer:
        text = f"The prepare step ended with exit code {result.exit_code} before it returned"
        last = shown.last_line()
        raise StageError(f"{text}: {last}" if last else text, stage=STAGE, cause="setup")
    prepared = answer["prepared"].get("value") or {}
    for leaf in strings(prepared):
        if not is_plain_url(leaf):
            redactor.add(leaf)
    return prepared
