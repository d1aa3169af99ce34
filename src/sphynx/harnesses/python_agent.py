"""A Python function of the eval file as the agent: ``variant(harness=my_agent, model=...)``.

It runs in the trial's own guest process, one per turn, as checks do, and only on this machine.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox, TurnResult
from sphynx.errors import StageError
from sphynx.journal.command_journal import CommandJournal
from sphynx.journal.events import Event, Message, Started
from sphynx.settings.names import KNOWN


class PythonHarness:
    """Calls the variant's function once per turn; what it emits becomes the journal as it arrives."""

    name = "python"
    version = ""

    def __init__(self) -> None:
        self._setup: HarnessSetup | None = None
        self._history: list[dict[str, str]] = []
        self._state: dict[str, Any] = {}
        self._turns = 0

    @classmethod
    def keys(cls, variant: Any, env: Mapping[str, str]) -> dict[str, str]:
        """Every known model key of the shell: which of them the function uses nobody can know."""
        of_models = [
            name for name, known in KNOWN.items() if not any(use.startswith("sandbox:") for use in known.uses)
        ]
        return {name: env[name] for name in of_models if env.get(name, "").strip()}

    async def prepare(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Nothing to install: the function is in the bundle."""
        if setup.function is None:
            raise StageError("the variant has no function to run", stage="harness", cause="setup")
        self._setup = setup

    async def turn(
        self,
        box: Sandbox,
        prompt: str,
        *,
        session_id: str | None,
        timeout_ms: int,
        emit: Callable[[Event], None],
    ) -> TurnResult:
        """One call of the function. An exception in it fails the turn with its own words."""
        setup = self._setup
        assert setup is not None and setup.function is not None
        heard = _Heard(setup.model, session_id, emit)
        payload = {
            "prompt": prompt,
            "model": setup.model,
            "index": self._turns,
            "session_id": session_id,
            "system_prompt": setup.system_prompt,
            "history": list(self._history),
            "state": self._state,
        }
        self._turns += 1
        self._history.append({"role": "user", "text": prompt})
        result = await setup.function(payload, {**setup.env, **setup.keys}, timeout_ms, heard.frame)
        self._history += heard.said
        self._state = heard.state if heard.state is not None else self._state
        return _ended(result, heard)


class _Heard:
    """What the function said so far."""

    def __init__(self, model: str, session_id: str | None, emit: Callable[[Event], None]) -> None:
        self.journal = CommandJournal()
        self.said: list[dict[str, str]] = []
        self.state: dict[str, Any] | None = None
        self.failed: str | None = None
        self.session_id = session_id
        self._model = model
        self._emit = emit

    def frame(self, frame: dict[str, Any]) -> None:
        kind = frame.get("t")
        if kind == "event":
            event = self.journal.feed(str(frame.get("line")).encode(), _now_ms())
            if event is not None:
                self._event(event)
        elif kind == "turn":
            state = frame.get("state")
            self.state = state if isinstance(state, dict) else {}
            self.begin()
        elif kind == "failed":
            self.failed = str(frame.get("message"))

    def begin(self) -> None:
        """A function need not name a session: it is called again all the same."""
        if self.session_id is None:
            self.session_id = f"python-{secrets.token_hex(6)}"
            self._emit(Started(session_id=self.session_id, model=self._model, at=_now_ms()))

    def _event(self, event: Event) -> None:
        if isinstance(event, Started):
            if self.session_id is None:
                self.session_id = event.session_id
                self._emit(event)
            return
        self.begin()
        if isinstance(event, Message):
            self.said.append({"role": event.role, "text": event.text})
        self._emit(event)


def _ended(result: ExecResult, heard: _Heard) -> TurnResult:
    journal = heard.journal
    known = {"session_id": heard.session_id, "usage": journal.usage, "exit_code": result.exit_code}
    if result.timed_out:
        return TurnResult("timed_out", cause="limit", **known)
    reason = heard.failed or journal.failure
    if reason is None and heard.state is None:
        reason = f"The agent's process ended with exit code {result.exit_code} before its turn was over"
    if reason is not None:
        return TurnResult("failed", reason=reason, **known)
    return TurnResult("finished", **known)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
