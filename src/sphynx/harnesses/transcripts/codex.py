"""Reads ``codex exec --json``."""

from __future__ import annotations

from collections.abc import Sequence
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
    minus,
    plain_command,
    set_aside,
    token_usage,
)
from sphynx.journal.events import Command, Event, FileChange, Message, Started, ToolCall, Usage

_NOTHING: tuple[Event, ...] = ()


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0


class _Change(msgspec.Struct, gc=False):
    path: str


class _Item(msgspec.Struct, gc=False):
    type: str
    id: str = ""
    text: str = ""
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    status: str | None = None
    changes: list[_Change] = []
    server: str = ""
    tool: str = ""
    query: str = ""
    arguments: Any = None
    result: Any = None
    error: Any = None
    items: Any = None
    prompt: Any = None


class _Line(msgspec.Struct, gc=False):
    type: str
    thread_id: str | None = None
    item: _Item | None = None
    usage: _Tokens | None = None
    message: str | None = None
    error: Any = None


class CodexReader:
    """One turn of Codex. Its counters run over the whole thread: ``before`` is what earlier turns used.

    ``model`` is the one that was asked for; Codex does not say which one answered.
    """

    def __init__(self, *, model: str = "", before: Usage | None = None) -> None:
        self.notes = Notes()
        self.total: Usage | None = None
        """Counters of the whole thread, to be the next turn's ``before``."""
        self._model = model
        self._before = before
        self._decoder = msgspec.json.Decoder(_Line)
        self._open: dict[str, tuple[_Item, int]] = {}
        self._completed = False
        self._failure: str | None = None
        self._last_error: str | None = None

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        try:
            record = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return set_aside(self.notes, line)
        kind = record.type
        if record.item is not None:
            return self._item(kind, record.item, line, now)
        if kind == "thread.started" and record.thread_id:
            self.notes.session_id = record.thread_id
            return (Started(session_id=record.thread_id, model=self._model, at=now),)
        if kind == "turn.completed":
            self._completed = True
            self._count(record.usage or _Tokens())
        elif kind == "turn.failed":
            self._failure = _message_of(record.error) or record.message or "the turn failed"
        elif kind == "error":
            self._last_error = record.message
        elif kind != "turn.started":
            return set_aside(self.notes, line)
        return _NOTHING

    def count_session(self, line: bytes) -> None:
        """Take the counters from a ``token_count`` line of the session file, for a turn that broke off."""
        try:
            record = msgspec.json.decode(line)
            total = msgspec.convert(record["payload"]["info"]["total_token_usage"], _Tokens)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
            return
        self._count(total)

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        # A command that outlives the turn is never completed: nobody saw how it ended.
        left = [
            Command(plain_command(item.command), None, item.aggregated_output, at=now, started_at=since)
            for item, since in self._open.values()
        ]
        self._open.clear()
        return left, self._outcome(exit)

    def _outcome(self, exit: Exit) -> Outcome:
        if self._failure is not None:
            return Outcome("failed", self._failure, "model")
        if self._completed and exit.code == 0:
            return SUCCESS
        if self._last_error is not None:
            return Outcome("failed", self._last_error, "model")
        return died(exit)

    def _item(self, kind: str, item: _Item, line: bytes, now: int) -> Sequence[Event]:
        if kind == "item.started":
            if item.type == "command_execution":
                self._open[item.id] = (item, now)
            return _NOTHING
        if kind != "item.completed":
            return _NOTHING if kind == "item.updated" else set_aside(self.notes, line)
        if item.type == "command_execution":
            started = self._open.pop(item.id, (item, now))[1]
            text = plain_command(item.command)
            return (Command(text, item.exit_code, item.aggregated_output, at=now, started_at=started),)
        if item.type == "agent_message":
            return (Message("assistant", item.text, at=now),)
        if item.type == "reasoning":
            self.notes.thinking += 1
            return _NOTHING
        return self._other(item, line, now)

    def _other(self, item: _Item, line: bytes, now: int) -> Sequence[Event]:
        if item.type == "file_change":
            paths = tuple(change.path for change in item.changes)
            if item.status in (None, "completed"):
                return (FileChange(paths, at=now, tool="apply_patch", kind="file_edit"),)
            text = as_text({"paths": list(paths)})
            return (ToolCall(item.id, "apply_patch", item.status, text, at=now, kind="file_edit"),)
        if item.type == "mcp_tool_call":
            return (_mcp_call(item, now),)
        if item.type == "web_search":
            text = as_text({"query": item.query})
            return (ToolCall(item.id, "web_search", "completed", text, at=now, kind="web_search"),)
        if item.type == "todo_list":
            text = as_text({"items": item.items})
            return (ToolCall(item.id, "update_plan", "completed", text, at=now, kind="unknown"),)
        if item.type == "collab_tool_call":
            text = as_text({"prompt": item.prompt})
            return (ToolCall(item.id, item.tool, item.status, text, at=now, kind="agent_task"),)
        return _NOTHING if item.type == "error" else set_aside(self.notes, line)

    def _count(self, tokens: _Tokens) -> None:
        cached = tokens.cached_input_tokens + tokens.cache_write_input_tokens
        self.total = token_usage(
            input=tokens.input_tokens - cached,
            output=tokens.output_tokens,
            cache_read=tokens.cached_input_tokens,
            cache_write=tokens.cache_write_input_tokens,
        )
        self.notes.usage = minus(self.total, self._before) if self._before else self.total


def _mcp_call(item: _Item, now: int) -> ToolCall:
    result = item.result.get("content") if isinstance(item.result, dict) else item.result
    output, failed = as_text(result), item.status == "failed"
    error = _message_of(item.error) or (output if failed else None)
    return ToolCall(
        item.id,
        f"mcp__{item.server}__{item.tool}",
        item.status,
        as_text(item.arguments),
        None if failed else output,
        error,
        at=now,
        kind="mcp",
    )


def _message_of(error: Any) -> str | None:
    if isinstance(error, dict):
        return clipped([error.get("message") if isinstance(error.get("message"), str) else None]) or None
    return error if isinstance(error, str) else None
