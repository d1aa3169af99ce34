"""Reads ``fx ask --json``, from its repository: it was not run here. One object at the end, no stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sphynx.harnesses.transcripts.reading import (
    SUCCESS,
    Exit,
    Notes,
    Outcome,
    as_text,
    clipped,
    died,
    object_of,
    set_aside,
)
from sphynx.journal.events import Command, Event, Message, Started, ToolCall
from sphynx.journal.tool_names import kind_of

_NOTHING: tuple[Event, ...] = ()
_DETAILS = ("question", "web_search", "web_fetch")


class FxReader:
    """One turn of FX. It tells the names of its tools and the exit codes of its commands, no tokens."""

    def __init__(self) -> None:
        self.notes = Notes()
        self._lines: list[bytes] = []
        self._answer: dict[str, Any] | None = None

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        if self._answer is None and line.strip():
            # The object may be printed over several lines.
            self._lines.append(line)
            value = object_of(b"\n".join(self._lines))
            if value is not None and "output" in value:
                self._answer = value
                self._lines.clear()
                return self._events(value, now)
            if value is not None or not self._lines[0].lstrip().startswith(b"{"):
                return self._set_aside()
            return _NOTHING
        return set_aside(self.notes, line)

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        self._set_aside()
        answer = self._answer
        if answer is None:
            return _NOTHING, died(exit)
        error = answer.get("error")
        if exit.code == 0 and not error and answer.get("exit_code", 0) == 0:
            return _NOTHING, SUCCESS
        failure = answer.get("auth_failure")
        reason = clipped([as_text(error), as_text(failure), died(exit).reason])
        return _NOTHING, Outcome("failed", reason, "model" if error or failure else "harness")

    def _set_aside(self) -> Sequence[Event]:
        for line in self._lines:
            set_aside(self.notes, line)
        self._lines.clear()
        return _NOTHING

    def _events(self, value: Mapping[str, Any], now: int) -> list[Event]:
        session, model = as_text(value.get("session_id")), as_text(value.get("model"))
        self.notes.session_id, self.notes.model = session, model
        events: list[Event] = [Started(session_id=session or "", model=model or "", at=now)]
        calls = value.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                events.append(_tool(call, now))
        text = as_text(value.get("output"))
        return [*events, Message("assistant", text, at=now)] if text else events


def _tool(call: Mapping[str, Any], now: int) -> Event:
    name, result = as_text(call.get("name")) or "unknown", call.get("command_result")
    if isinstance(result, Mapping) and isinstance(result.get("command"), str):
        code = result.get("exit_code")
        return Command(result["command"], code if isinstance(code, int) else None, "", at=now)
    detail = next((as_text(call[key]) for key in _DETAILS if call.get(key) is not None), None)
    return ToolCall(None, name, as_text(call.get("status")), detail, at=now, kind=kind_of(name))
