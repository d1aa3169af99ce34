"""A trial's mocks, seen from the host: started before prepare, heard while they answer, trusted at the end.

The calls are kept here. Each arrives over the guest's private channel before the agent has its answer, and
no file in the sandbox holds them, so an agent can neither empty the log nor write into it; it can only make
calls, which are calls. ``settle`` asks for a mark over the mocks' own door and waits until it has come back
through the channel: then every call before it is here, and the mocks are still the ones that were started.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sphynx.contracts import ExecResult, GuestRequest, Sandbox
from sphynx.engine.shown import Shown
from sphynx.errors import StageError
from sphynx.guest.mocks import FOLDER
from sphynx.journal.events import ToolCall
from sphynx.suite.suites import Suite

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial

STAGE = "mocks"
START_S = 60.0
MARK_S = 45.0
"""Longer than a handler may take: one that blocks the mocks' loop is told from one that has ended."""
_WHOLE_TRIAL_MS = 86_400_000
MOST_CALLS = 10_000
MOST_CHARS = 16_000_000
STORED = 16_000
"""Characters of a value in the journal, cut after redaction."""
_EMPTY = {"text": "", "format": "json", "state": "unavailable", "truncated": True}


def mcp_servers(suite: Suite, box: Sandbox) -> dict[str, Sequence[str]]:
    """The command line of every MCP mock, as the agent's client starts it."""
    return {server.label: [f"{box.home}/{FOLDER}/mcp/{server.label}"] for server in suite.mcp}


class TrialMocks:
    """The mocks of one trial. ``urls`` says where its APIs listen, ``calls`` what was called so far."""

    def __init__(self, trial: Trial, box: Sandbox) -> None:
        self.urls: dict[str, str] = {}
        self.calls: dict[str, list[dict[str, Any]]] = {"cli": [], "mcp": [], "api": []}
        self.dropped = 0
        self._agents: dict[str, int] | None = None
        self.journalled = False
        """Whether calls are written to the journal now: while the agent works."""
        self._trial = trial
        self._box = box
        self._apis: list[dict[str, Any]] = []
        self._room = MOST_CHARS
        self._broken: str | None = None
        self._failed: str | None = None
        self._wanted = ""
        self._heard = False
        self._news = asyncio.Event()
        self._ready = False
        self._task: asyncio.Task[ExecResult] | None = None

    async def start(self) -> None:
        """Start them and wait until they answer. ``StageError`` says why they do not."""
        job = self._trial.job
        request = GuestRequest(
            op="mocks",
            suite=job.suite.index,
            case=job.case.case.id,
            payload={},
            env={},
            timeout_ms=_WHOLE_TRIAL_MS,
        )
        shown = Shown(self._trial.redactor, lambda text: self._trial.show("mocks", text))
        serving = self._box.guest(request, on_frame=self._take, on_output=shown.feed)
        self._task = asyncio.create_task(serving)
        self._task.add_done_callback(lambda task: self._news.set())
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                await self._until(lambda: self._ready or self._failed is not None)
        if not self._ready:
            why = self._failed or f"The mocks did not start{self._ending()}"
            raise StageError(self._trial.redactor.text(why), stage=STAGE, cause="setup")

    def opening(self, prompt: str) -> str:
        """The opening prompt, with where the APIs are and what they answer."""
        if not self._apis:
            return prompt
        lines = ["", "Local mock APIs stand in for the outside services of this task. Use them:"]
        for api in self._apis:
            lines += ["", f"{api['name']}: {api['url']}"]
            for endpoint in api["endpoints"]:
                about = f": {endpoint['description']}" if endpoint.get("description") else ""
                lines.append(f"{endpoint['method']} {endpoint['path']}{about}")
        return prompt + "\n" + "\n".join(lines)

    def of_the_agent(self) -> dict[str, list[dict[str, Any]]]:
        """The calls up to the end of the agent's work, without those of checks."""
        there = self._agents or {}
        return {kind: calls[: there.get(kind)] for kind, calls in self.calls.items()}

    async def settle(self) -> str | None:
        """Wait until every call so far is here. Gives why the trial cannot be trusted, if it cannot."""
        mark = self._wanted = secrets.token_hex(8)
        self._heard = False
        with suppress(TimeoutError):
            async with asyncio.timeout(MARK_S):
                await self._box.exec([f"{self._box.home}/{FOLDER}/mark", mark], timeout_ms=int(MARK_S * 1000))
                await self._until(lambda: self._heard, patience_s=2.0)
        self.journalled = False
        if self._agents is None:
            self._agents = {kind: len(calls) for kind, calls in self.calls.items()}
        if self._broken is None and not self._heard:
            self._broken = f"The mocks no longer answer{self._ending()}, so their calls cannot be trusted"
        return None if self._broken is None else self._trial.redactor.text(self._broken)

    async def stop(self) -> None:
        """End them."""
        self.journalled = False
        if self.dropped:
            self._trial.notes.append(f"{self.dropped} calls of mocks were not kept")
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.exception()  # whatever it was, the trial is over

    async def _until(self, there: Any, *, patience_s: float | None = None) -> None:
        """Wait for frames until ``there()`` holds, the mocks end, or ``patience_s`` is over."""
        async with asyncio.timeout(patience_s):
            while not there() and not (self._task and self._task.done()):
                self._news.clear()
                await self._news.wait()

    def _ending(self) -> str:
        task = self._task
        if task is None or not task.done() or task.cancelled():
            return ""
        error = task.exception()
        if error is not None:
            return f": {error}"
        said = task.result().stdout.decode("utf-8", "replace").strip().splitlines()
        ended = f" (they ended with exit code {task.result().exit_code})"
        return f"{ended}: {said[-1]}" if said else ended

    def _take(self, frame: dict[str, Any]) -> None:
        kind = frame.get("t")
        if kind == "ready" and not self._ready:
            self._ready, self._apis = True, frame.get("api") or []
            self.urls = {api["name"]: api["url"] for api in self._apis}
        elif kind == "failed":
            self._failed = str(frame.get("message"))
        elif kind == "mark":
            self._heard = self._heard or frame.get("mark") == self._wanted
        elif kind == "call" and frame.get("kind") in self.calls and isinstance(frame.get("record"), dict):
            self._take_call(frame)
        self._news.set()

    def _take_call(self, frame: dict[str, Any]) -> None:
        kind, record = str(frame["kind"]), frame["record"]
        if frame.get("broken") and self._broken is None:
            self._broken = str(frame["broken"])
        if self.journalled and kind == "api":
            self._trial.journal.emit(self._event(record))
        calls = self.calls[kind]
        if len(calls) >= MOST_CALLS:
            self.dropped += 1
            return
        size = len(str(record))
        if size > self._room:
            record = {**record, "input": _EMPTY, "output": _EMPTY, "logs": []}
        else:
            self._room -= size
        calls.append(record)

    def _event(self, record: Mapping[str, Any]) -> ToolCall:
        """An HTTP call as the journal has it."""

        def stored(text: str) -> str:
            return self._trial.redactor.text(text)[:STORED]

        failed = record.get("error") is not None or record["status"] >= 400
        started = float(record["startedAt"])
        error = record.get("error")
        return ToolCall(
            call_id=f"api:{record['api']}:{record['index']}",
            name=f"{record['api']} {record['method']} {record['path']}",
            status="error" if failed else "completed",
            input=stored(record["input"]["text"]),
            output=stored(record["output"]["text"]),
            error=None if error is None else stored(error),
            started_at=int(started),
            at=int(started + float(record["durationMs"])),
        )


async def start(trial: Trial, box: Sandbox) -> TrialMocks | None:
    """Start the mocks of a trial's suite; ``None`` when it has none."""
    if not trial.job.suite.suite.mocks:
        return None
    made = trial.mocks = TrialMocks(trial, box)
    await made.start()
    return made


async def settled(trial: Trial) -> bool:
    """Whether the mocks can still be trusted; else the trial is void with what they said."""
    if trial.mocks is None:
        return True
    reason = await trial.mocks.settle()
    if reason is not None:
        trial.end("void", cause="setup", stage=STAGE, reason=reason)
    return reason is None
