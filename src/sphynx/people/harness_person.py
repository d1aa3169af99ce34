"""A person played by another agent, in a sandbox of its own that lasts for the whole conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from sphynx.contracts import Harness, HarnessSetup, Sandbox, TurnResult
from sphynx.errors import StageError
from sphynx.journal.events import Usage
from sphynx.journal.spoken import Spoken
from sphynx.people.briefing import agent_briefing, reply_of

LIMIT_MS = 300_000
"""Time for one reply; it does not count against the agent."""
GRACE_S = 10.0
"""A harness stops its agent at the limit; one that does not is cancelled this much later."""

OpenBox = Callable[[], Awaitable[Sandbox]]


class HarnessPerson:
    """Keeps one session where the agent continues sessions, else hears everything again every turn."""

    def __init__(
        self, goal: str, brief: str, harness: Harness, setup: HarnessSetup, open_box: OpenBox
    ) -> None:
        self._goal = goal
        self._brief = brief
        self._harness = harness
        self._setup = setup
        self._open_box = open_box
        self._box: Sandbox | None = None
        self._session: str | None = None
        self._said: list[str] = []
        self.usages: list[Usage | None] = []

    @property
    def model(self) -> str:
        """The model that plays, as it is priced."""
        return self._setup.model

    async def reply(self, turn: int, answer: str) -> str | None:
        """What the person says to ``answer``; ``None`` when they are done.

        ``StageError`` (cause ``person``) when the agent that plays them fails, or does more than speak.
        """
        box = await self._ready()
        text = answer if self._session else agent_briefing(self._goal, self._brief, self._said, answer)
        heard = Spoken()
        self.usages.append(None)
        result = await self._turn(box, text, heard)
        self.usages[-1] = result.usage
        if heard.tools:
            raise _failed(f"The person used tools ({heard.used}), though people only speak")
        if result.status != "finished":
            raise _failed(
                f"The person did not answer: {self._harness.name}: {result.reason or result.status}"
            )
        self._session = result.session_id
        said = reply_of(heard.text)
        if said is not None:
            self._said.append(said)
        return said

    async def _turn(self, box: Sandbox, text: str, heard: Spoken) -> TurnResult:
        with anyio.move_on_after(LIMIT_MS / 1000 + GRACE_S):
            try:
                return await self._harness.turn(
                    box, text, session_id=self._session, timeout_ms=LIMIT_MS, emit=heard.take
                )
            except StageError as error:
                return TurnResult("failed", reason=error.message)
        return TurnResult("timed_out", reason="no answer in time")

    async def close(self) -> None:
        """Close the person's sandbox."""
        if self._box is not None:
            await self._box.close()

    async def _ready(self) -> Sandbox:
        if self._box is not None:
            return self._box
        try:
            self._box = await self._open_box()
            await self._harness.prepare(self._box, self._setup)
        except StageError as error:
            raise _failed(f"The person did not answer: {error.message}") from error
        except OSError as error:
            raise _failed(f"The person's sandbox did not open: {error.strerror or error}") from error
        return self._box


def _failed(text: str) -> StageError:
    return StageError(text, stage="person", cause="person")
