"""Reads ``opencode run --format json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

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
    token_usage,
)
from sphynx.harnesses.transcripts.tool_events import Call, ShellEnd, settled, unfinished
from sphynx.journal.events import Event, FileChange, Message, Started

_NOTHING: tuple[Event, ...] = ()
_OWN_TOOLS = frozenset(["plan_enter", "plan_exit", "apply_patch"])
"""Its own tools with an underscore in their name."""
_LOGGED = "timestamp="
"""How a line of its log begins."""


class _Time(msgspec.Struct, gc=False):
    start: int | None = None
    end: int | None = None


class _State(msgspec.Struct, gc=False):
    status: str = ""
    input: Any = None
    output: Any = None
    error: Any = None
    metadata: dict[str, Any] = {}
    time: _Time | None = None


class _Cache(msgspec.Struct, gc=False):
    read: int = 0
    write: int = 0


class _Tokens(msgspec.Struct, gc=False):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = msgspec.field(default_factory=_Cache)


class _Part(msgspec.Struct, gc=False):
    text: str = ""
    tool: str = ""
    call_id: str = msgspec.field(default="", name="callID")
    state: _State | None = None
    tokens: _Tokens | None = None
    cost: float = 0.0
    reason: str = ""
    time: _Time | None = None


class _Line(msgspec.Struct, gc=False):
    type: str
    session_id: str | None = msgspec.field(default=None, name="sessionID")
    part: _Part | None = None
    error: Any = None


class OpenCodeReader:
    """One turn of OpenCode. There is no summary line: counts are the sum of the steps.

    ``model`` is the one that was asked for; the lines do not say which one answered.
    """

    def __init__(self, *, model: str = "") -> None:
        self.notes = Notes()
        self._model = model
        self._decoder = msgspec.json.Decoder(_Line)
        self._reason: str | None = None
        self._failure: str | None = None

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        try:
            record = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return set_aside(self.notes, line)
        events = self._events(record, line, now)
        if self.notes.session_id is None and record.session_id:
            self.notes.session_id = record.session_id
            return (Started(session_id=record.session_id, model=self._model, at=now), *events)
        return events

    def exported(self, text: bytes, now: int) -> list[Event]:
        """Tools that were running when a turn broke off, from the session's export: no line tells them."""
        value = object_of(text[max(0, text.find(b"{")) :])
        messages = value.get("messages") if value else None
        return [
            unfinished(call, now)
            for message in (messages if isinstance(messages, list) else ())
            for call in _running(message)
        ]

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        return _NOTHING, self._outcome(exit)

    def _outcome(self, exit: Exit) -> Outcome:
        if self._failure is not None:
            return Outcome("failed", self._failure, "model")
        if exit.code != 0 or self._reason is None:
            return died(_without_log(exit))
        if self._reason == "tool-calls":
            # It stops after a tool it was not allowed to use, and ends with exit code 0.
            return Outcome("failed", "the agent stopped after a tool call")
        if self._reason == "length":
            return Outcome("limit", "the answer reached the model's output limit", "limit")
        if self._reason in ("content-filter", "error"):
            return Outcome("failed", f"the model ended its answer with {self._reason}", "model")
        return SUCCESS

    def _events(self, record: _Line, line: bytes, now: int) -> Sequence[Event]:
        kind, part = record.type, record.part
        if kind == "error":
            self._failure = _message_of(record.error)
            return _NOTHING
        if part is None:
            return set_aside(self.notes, line)
        if kind == "text":
            at = part.time.end if part.time else None
            return (Message("assistant", part.text, at=at or now),) if part.text else _NOTHING
        if kind == "tool_use" and part.state is not None:
            return (_tool(part, part.state, now),)
        if kind == "step_finish":
            self._count(part)
            return _NOTHING
        if kind == "reasoning":
            self.notes.thinking += 1
            return _NOTHING
        return _NOTHING if kind == "step_start" else set_aside(self.notes, line)

    def _count(self, part: _Part) -> None:
        self._reason = part.reason
        tokens = part.tokens or _Tokens()
        if tokens.reasoning:
            self.notes.thinking += 1
        step = token_usage(
            input=tokens.input,
            output=tokens.output + tokens.reasoning,
            cache_read=tokens.cache.read,
            cache_write=tokens.cache.write,
            # A model without a known price costs 0 here, which says nothing.
            cost_usd=part.cost or None,
        )
        self.notes.usage = self.notes.usage + step if self.notes.usage else step


def _without_log(exit: Exit) -> Exit:
    said = [line for line in exit.stderr.splitlines() if not line.startswith(_LOGGED)]
    return replace(exit, stderr="\n".join(said))


def _running(message: Any) -> list[Call]:
    parts = message.get("parts") if isinstance(message, Mapping) else None
    calls: list[Call] = []
    for part in parts if isinstance(parts, list) else ():
        state = part.get("state") if isinstance(part, Mapping) else None
        if isinstance(state, Mapping) and state.get("status") == "running":
            time = state.get("time")
            since = time.get("start") if isinstance(time, Mapping) else None
            started = since if isinstance(since, int) else None
            calls.append(Call(str(part.get("callID")), str(part.get("tool")), state.get("input"), started))
    return calls


def _tool(part: _Part, state: _State, now: int) -> Event:
    time = state.time or _Time()
    at, failed = time.end or now, state.status != "completed"
    if part.tool == "invalid" and isinstance(state.input, Mapping):
        # What it answers to a call of a tool that does not exist.
        called, why = str(state.input.get("tool")), str(state.input.get("error"))
        return settled(Call(part.call_id, called, None, time.start), why, failed=True, now=at)
    call = Call(part.call_id, part.tool, state.input, time.start)
    if call.command is not None and not failed:
        return settled(call, "", failed=False, now=at, end=_shell_end(state))
    text = as_text(state.error if failed else state.output) or ""
    if call.path is not None and not failed:
        paths = (_written(state.metadata) or call.path,)
        return FileChange(paths, at=at, started_at=call.since, tool=call.name, kind=call.kind)
    return settled(call, text, failed=failed, now=at, kind=_kind(part.tool))


def _shell_end(state: _State) -> ShellEnd:
    code, output = state.metadata.get("exit"), state.metadata.get("output")
    text = output if isinstance(output, str) else as_text(state.output) or ""
    return ShellEnd(code if isinstance(code, int) else None, "" if text == "(no output)" else text)


def _written(metadata: Mapping[str, Any]) -> str | None:
    difference = metadata.get("filediff")
    path = difference.get("file") if isinstance(difference, Mapping) else metadata.get("filepath")
    return path if isinstance(path, str) else None


def _kind(tool: str) -> str | None:
    """MCP tools are called ``<server>_<tool>``, and nothing else marks them."""
    return "mcp" if "_" in tool and tool not in _OWN_TOOLS else None


def _message_of(error: Any) -> str:
    fields = error if isinstance(error, Mapping) else {}
    data = fields.get("data")
    message = data.get("message") if isinstance(data, Mapping) else fields.get("message")
    return clipped([message if isinstance(message, str) else None, as_text(error)]) or "the turn failed"
