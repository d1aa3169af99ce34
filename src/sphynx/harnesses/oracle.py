"""The ``oracle`` harness: runs the case's reference ``solution``. A case it does not pass is wrong itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox, TurnResult
from sphynx.errors import StageError
from sphynx.journal.events import Event, Message


class OracleHarness:
    """Runs the solution, a shell command or a function of the eval file, in the first turn."""

    name = "oracle"
    version = ""
    uses_model = False

    def __init__(self) -> None:
        self._solution: Callable[[], Awaitable[ExecResult]] | None = None

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Refuse a case without a solution."""
        if setup.solution is None:
            raise StageError("the case has no solution to run", stage="harness", cause="setup")
        self._solution = setup.solution

    async def turn(
        self,
        box: Sandbox,
        prompt: str,
        *,
        session_id: str | None,
        timeout_ms: int,
        emit: Callable[[Event], None],
    ) -> TurnResult:
        """Run it; what it prints is the answer. One that does not exit 0 fails with its last words."""
        assert self._solution is not None
        with anyio.move_on_after(timeout_ms / 1000):
            result = await self._solution()
            said = result.stdout.decode("utf-8", "replace").strip()
            if said:
                emit(Message(role="assistant", text=said, at=int(time.time() * 1000)))
            return _ended(result)
        return TurnResult("timed_out", cause="limit")


def _ended(result: ExecResult) -> TurnResult:
    if result.timed_out:
        return TurnResult("timed_out", cause="limit")
    if result.exit_code == 0:
        return TurnResult("finished", exit_code=0)
    said = (result.stderr or result.stdout).decode("utf-8", "replace").splitlines()
    last = next((line.strip() for line in reversed(said) if line.strip()), "")
    reason = f"The reference solution exited with status {result.exit_code}" + (f": {last}" if last else "")
    return TurnResult("failed", reason=reason, cause="setup", exit_code=result.exit_code)
