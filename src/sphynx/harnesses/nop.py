"""The ``nop`` harness: does nothing. A case whose checks pass after it asks nothing of an agent."""

from __future__ import annotations

from collections.abc import Callable

from sphynx.contracts import HarnessSetup, Sandbox, TurnResult
from sphynx.journal.events import Event


class NopHarness:
    """Ends every turn at once and leaves the workspace as it is."""

    name = "nop"
    version = ""
    uses_model = False

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Nothing to do."""

    async def turn(
        self,
        box: Sandbox,
        prompt: str,
        *,
        session_id: str | None,
        timeout_ms: int,
        emit: Callable[[Event], None],
    ) -> TurnResult:
        """Nothing happens."""
        return TurnResult("finished")
