"""Reads ``pi --mode json``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from sphynx.harnesses.transcripts.reading import (
    SUCCESS,
    Exit,
    Notes,
    Outcome,
    api_words,
    as_text,
    died,
    set_aside,
    token_usage,
)
from sphynx.harnesses.transcripts.tool_events import Call, ShellEnd, settled, unfinished
from sphynx.journal.events import Event, Message, MessageUsage, Started

_NOTHING: tuple[Event, ...] = ()
_EXIT = re.compile(r"\n*Command exited with code (\d+)\s*$")
_LARGE = (b'{"type":"message_update"', b'{"type":"tool_execution_update"', b'{"type":"agent_end"')
"""Lines that repeat what other lines say, at length."""
_QUIET = frozenset(
    ["agent_settled", "agent_start", "auto_retry_end", "auto_retry_start", "compaction_end",
     "compaction_start", "entry_appended", "message_end", "message_start", "queue_update", "turn_end",
     "turn_start"]
)  # fmt: skip


class _Cost(msgspec.Struct, gc=False):
    total: float = 0.0


class _Usage(msgspec.Struct, rename="camel", gc=False):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: _Cost = msgspec.field(default_factory=_Cost)


class _Content(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, rename="camel", gc=False):
    role: str = ""
    content: list[_Content] | str | None = None
    provider: str | None = None
    model: str | None = None
    usage: _Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None


class _Result(msgspec.Struct, rename="camel", gc=False):
    content: Any = None
    structured_content: Any = None


class _Line(msgspec.Struct, rename="camel", gc=False):
    type: str
    id: str | None = None
    message: _Message | None = None
    tool_call_id: str = ""
    tool_name: str = ""
    args: Any = None
    result: _Result | None = None
    is_error: bool = False


class PiReader:
    """One turn of Pi. It exits 0 whatever happens: the last assistant message says how it went."""

    def __init__(self, *, model: str = "") -> None:
        self.notes = Notes()
        self._model = model
        self._decoder = msgspec.json.Decoder(_Line)
        self._open: dict[str, Call] = {}
        self._last: _Message | None = None

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        if line.startswith(_LARGE):
            return _NOTHING
        try:
            record = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return set_aside(self.notes, line)
        kind = record.type
        if kind == "message_end" and record.message is not None:
            return self._message(record.message, now)
        if kind == "tool_execution_start":
            self._open[record.tool_call_id] = Call(record.tool_call_id, record.tool_name, record.args, now)
            return _NOTHING
        if kind == "tool_execution_end" and record.result is not None:
            return (self._tool(record, record.result, now),)
        if kind == "session" and record.id:
            self.notes.session_id = record.id
            return (Started(session_id=record.id, model=self._model, at=now),)
        return _NOTHING if kind in _QUIET else set_aside(self.notes, line)

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        left = [unfinished(call, now) for call in self._open.values()]
        self._open.clear()
        return left, self._outcome(exit)

    def _outcome(self, exit: Exit) -> Outcome:
        last = self._last
        if last is None or (exit.code != 0 and last.stop_reason not in ("error", "aborted")):
            return died(exit)
        if last.stop_reason == "stop":
            return SUCCESS
        if last.stop_reason == "length":
            return Outcome("limit", "the answer reached the model's output limit", "limit")
        if last.stop_reason == "error":
            return Outcome("failed", api_words(last.error_message or "the model failed"), "model")
        return Outcome("failed", last.error_message or f"the agent stopped ({last.stop_reason})")

    def _message(self, message: _Message, now: int) -> Sequence[Event]:
        if message.role != "assistant":
            return _NOTHING
        self._last = message
        if message.provider and message.model:
            self.notes.model = f"{message.provider}/{message.model}"
        usage = self._count(message.usage or _Usage())
        parts = message.content if isinstance(message.content, list) else []
        self.notes.thinking += sum(part.type == "thinking" for part in parts)
        text = "\n".join(part.text for part in parts if part.type == "text" and part.text)
        return (Message("assistant", text, usage=usage, at=now),) if text else _NOTHING

    def _count(self, spent: _Usage) -> MessageUsage:
        # A model without a known price costs 0 here, which says nothing.
        step = token_usage(
            input=spent.input,
            output=spent.output,
            cache_read=spent.cache_read,
            cache_write=spent.cache_write,
            cost_usd=spent.cost.total or None,
        )
        self.notes.usage = self.notes.usage + step if self.notes.usage else step
        return MessageUsage(
            step.input_tokens,
            step.output_tokens,
            step.cache_read_tokens,
            step.cache_write_tokens,
            step.total_tokens,
            step.cost_usd,
        )

    def _tool(self, record: _Line, result: _Result, now: int) -> Event:
        call = self._open.pop(record.tool_call_id, None)
        if call is None:
            call = Call(record.tool_call_id, record.tool_name, record.args, None)
        structured = result.structured_content
        if call.command is not None and type(structured) is dict and "exit_code" in structured:
            code, output = structured["exit_code"], as_text(structured.get("output")) or ""
            end = ShellEnd(code if type(code) is int else None, output)
            return settled(call, "", failed=False, now=now, end=end)
        text = as_text(result.content) or ""
        end = _shell_end(text, record.is_error) if call.kind == "shell" else None
        return settled(call, text, failed=record.is_error, now=now, end=end)


def _shell_end(text: str, failed: bool) -> ShellEnd | None:
    """Exit code and output, found in the text: older versions tell them nowhere else."""
    found = _EXIT.search(text)
    if found is not None:
        return ShellEnd(int(found[1]), text[: found.start()])
    if failed:
        # Timed out or stopped: it ran. Anything else was refused before it ran.
        return ShellEnd(None, text) if text.rstrip().endswith(("seconds", "aborted")) else None
    return ShellEnd(0, "" if text == "(no output)" else text)
