"""Reads ``cursor-agent -p --output-format stream-json``, from its documentation: it was not run here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    set_aside,
    token_usage,
)
from sphynx.harnesses.transcripts.tool_events import Call, ShellEnd, settled, unfinished
from sphynx.journal.events import Event, Message, Started

_NOTHING: tuple[Event, ...] = ()
_QUIET = frozenset(["user", "thinking", "interaction_query", "connection", "retry"])


class _Part(msgspec.Struct):
    text: str = ""


class _Message(msgspec.Struct):
    content: list[_Part] | str = []


class _Line(msgspec.Struct):
    type: str
    subtype: str | None = None
    session_id: str | None = None
    model: str | None = None
    message: _Message | None = None
    call_id: str = ""
    tool_call: dict[str, Any] = {}
    is_error: bool = False
    result: Any = None
    usage: dict[str, Any] = {}


class CursorReader:
    """One turn of Cursor Agent. It may end without a last line; then the exit code and stderr tell."""

    def __init__(self) -> None:
        self.notes = Notes()
        self._decoder = msgspec.json.Decoder(_Line)
        self._open: dict[str, Call] = {}
        self._result: _Line | None = None

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        try:
            record = self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return set_aside(self.notes, line)
        kind = record.type
        if kind == "assistant" and record.message is not None:
            text = _text(record.message)
            return (Message("assistant", text, at=now),) if text else _NOTHING
        if kind == "tool_call" and record.tool_call:
            return self._tool(record, now)
        if kind == "system" and record.subtype == "init":
            self.notes.session_id = record.session_id
            self.notes.model = record.model
            return (Started(session_id=record.session_id or "", model=record.model or "", at=now),)
        if kind == "result":
            self._result = record
            self._count(record.usage)
            return _NOTHING
        if kind == "thinking":
            self.notes.thinking += record.subtype == "completed"
        return _NOTHING if kind in _QUIET else set_aside(self.notes, line)

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        left = [unfinished(call, now) for call in self._open.values()]
        self._open.clear()
        record = self._result
        if record is None:
            return left, died(exit)
        if not record.is_error and record.subtype == "success" and exit.code == 0:
            return left, SUCCESS
        reason = clipped([as_text(record.result) if record.is_error else None, died(exit).reason])
        return left, Outcome("failed", reason, "model" if record.is_error else "harness")

    def _tool(self, record: _Line, now: int) -> Sequence[Event]:
        name, body = next(iter(record.tool_call.items()))
        fields = body if isinstance(body, Mapping) else {}
        given = Call(record.call_id, _own_name(name, fields), fields.get("args"), now)
        if record.subtype != "completed":
            self._open[record.call_id] = given
            return _NOTHING
        begun = self._open.pop(record.call_id, given)
        result = fields.get("result")
        outcome = result if isinstance(result, Mapping) else {}
        failed = "success" not in outcome
        detail = outcome.get("success", next(iter(outcome.values()), None))
        text = as_text(detail) or ""
        end = _shell_end(detail) if begun.kind == "shell" else None
        return (settled(begun, text, failed=failed, now=now, end=end),)

    def _count(self, usage: Mapping[str, Any]) -> None:
        counts = {name: value for name, value in usage.items() if isinstance(value, int)}
        if counts:
            self.notes.usage = token_usage(
                input=counts.get("inputTokens", counts.get("input_tokens", 0)),
                output=counts.get("outputTokens", counts.get("output_tokens", 0)),
                cache_read=counts.get("cacheReadTokens", counts.get("cache_read_input_tokens", 0)),
                cache_write=counts.get("cacheWriteTokens", counts.get("cache_creation_input_tokens", 0)),
            )


def _text(message: _Message) -> str:
    content = message.content
    return content if isinstance(content, str) else "".join(part.text for part in content)


def _own_name(name: str, fields: Mapping[str, Any]) -> str:
    """``readToolCall`` is the tool ``read``; an MCP tool carries its server's and its own name inside."""
    plain = name.removesuffix("ToolCall")
    args = fields.get("args")
    if plain.lower() == "mcp" and isinstance(args, Mapping):
        parts = [args.get("providerIdentifier"), args.get("toolName") or args.get("name")]
        return "__".join(["mcp", *(part for part in parts if isinstance(part, str))])
    return plain


def _shell_end(detail: Any) -> ShellEnd | None:
    if not isinstance(detail, Mapping) or "exitCode" not in detail:
        return None
    code, parts = detail["exitCode"], [detail.get("stdout"), detail.get("stderr")]
    output = "\n".join(part.rstrip("\n") for part in parts if isinstance(part, str) and part)
    return ShellEnd(code if isinstance(code, int) else None, output)
