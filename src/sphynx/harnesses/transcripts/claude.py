"""Reads ``claude -p --output-format stream-json --verbose``, and what prints the same shape."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
    set_aside,
    token_usage,
)
from sphynx.harnesses.transcripts.tool_events import Call, ShellEnd, settled, unfinished
from sphynx.journal.events import Event, Message, Started, Usage

_NOTHING: tuple[Event, ...] = ()
_EXIT = re.compile(r"(?:Error: )?Exit code (\d+)\n?")
_QUIET = frozenset(
    ["api_retry", "compact_boundary", "retry", "hook_response", "hook_started", "permission_denied", "status",
     "task_notification", "task_progress", "task_started", "thinking_tokens", "ui_invalidate"]
)  # fmt: skip
"""System lines that are understood and say nothing for the journal."""


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None


class _Tokens(msgspec.Struct, gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class _Message(msgspec.Struct, gc=False):
    content: list[_Block] | str = []
    id: str = ""
    model: str | None = None
    usage: _Tokens | None = None


class _Spent(msgspec.Struct, rename="camel", gc=False):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cost_basis: str | None = None


class ClaudeLine(msgspec.Struct, gc=False):
    """Every field the reader looks at; the rest of a line is skipped undecoded."""

    type: str
    subtype: str | None = None
    session_id: str | None = None
    model: str | None = None
    message: _Message | None = None
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    is_error: bool = False
    result: str | None = None
    errors: list[Any] | None = None
    error: Any = None
    api_error_status: Any = None
    terminal_reason: str | None = None
    usage: _Tokens | None = None
    model_usage: dict[str, _Spent] | None = msgspec.field(default=None, name="modelUsage")
    total_cost_usd: float | None = None
    qwen_code_version: str = ""


class ClaudeReader:
    """One turn of Claude Code. ``before`` is what ``total`` was after the session's last turn."""

    def __init__(self, *, before: Usage | None = None) -> None:
        self.notes = Notes()
        self.total: Usage | None = None
        """Counters of the whole session: tokens of every model it used, and what they cost if known."""
        self._before = before
        self._decode = msgspec.json.Decoder(ClaudeLine).decode
        self._open: dict[str, Call] = {}
        self._result: ClaudeLine | None = None
        self._retrying: str | None = None
        self._said: str | None = None

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        try:
            record = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return set_aside(self.notes, line)
        kind = record.type
        if kind == "assistant" and record.message is not None:
            return self._assistant(record, record.message, now)
        if kind == "user" and record.message is not None:
            return self._results(record.message, record.tool_use_result, now)
        if kind == "system":
            return self._system(record, line, now)
        if kind == "result":
            self._end_of_turn(record)
            return _NOTHING
        return _NOTHING if kind == "stream_event" else set_aside(self.notes, line)

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        left = [unfinished(call, now) for call in self._open.values()]
        self._open.clear()
        return left, self._outcome(exit)

    def _system(self, record: ClaudeLine, line: bytes, now: int) -> Sequence[Event]:
        if record.subtype == "init":
            self.notes.session_id = record.session_id
            self.begun(record)
            return (Started(session_id=record.session_id or "", model=record.model or "", at=now),)
        if record.subtype == "api_retry":
            self._retrying = _text_of(record.error)
        return _NOTHING if record.subtype in _QUIET else set_aside(self.notes, line)

    def _assistant(self, record: ClaudeLine, message: _Message, now: int) -> Sequence[Event]:
        mine = record.parent_tool_use_id is None
        if message.model == "<synthetic>":
            # The program speaks here, not the model: the end of a failed call.
            self._said = clipped(_texts(message))
            return _NOTHING
        if mine and message.model:
            self.notes.model = message.model
        self.said(message)
        events: list[Event] = []
        for block in _blocks(message):
            kind = block.type
            if kind == "tool_use":
                self._open[block.id] = Call(block.id, block.name, block.input, now)
            elif kind == "text" and mine and block.text:
                events.append(Message("assistant", block.text, at=now))
            elif kind in ("thinking", "redacted_thinking"):
                self.notes.thinking += 1
        return events

    def _results(self, message: _Message, detail: Any, now: int) -> Sequence[Event]:
        events: list[Event] = []
        for block in _blocks(message):
            call = self._open.pop(block.tool_use_id, None) if block.type == "tool_result" else None
            if call is None:
                continue
            failed = block.is_error is True
            content = block.content
            text = content if type(content) is str else as_text(content) or ""
            end = self.shell_end(call, text, failed, detail) if call.kind == "shell" else None
            events.append(settled(call, text, failed=failed, now=now, end=end))
        return events

    def count_session(self, lines: Iterable[bytes]) -> None:
        """Count from the session's own file, for a turn that broke off before it told its counters.

        Each message stands there once per piece, with its final counts; a price does not.
        """
        spent: dict[str, _Tokens] = {}
        for line in lines:
            try:
                record = self._decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            message = record.message
            if record.type == "assistant" and message is not None and message.usage is not None:
                spent[message.id] = message.usage
        if spent and self._result is None:
            self.total = token_usage(
                input=sum(part.input_tokens for part in spent.values()),
                output=sum(part.output_tokens for part in spent.values()),
                cache_read=sum(part.cache_read_input_tokens for part in spent.values()),
                cache_write=sum(part.cache_creation_input_tokens for part in spent.values()),
            )
            self.notes.usage = self.share(self.total)

    def begun(self, record: ClaudeLine) -> None:
        """The session's first line came in."""

    def said(self, message: Any) -> None:
        """A piece of the model's message came in."""

    def shell_end(self, call: Call, text: str, failed: bool, detail: Any) -> ShellEnd | None:
        """How a shell command ended; ``None`` when it was refused and never ran."""
        if failed:
            found = _EXIT.match(text)
            return ShellEnd(int(found[1]), text[found.end() :]) if found else None
        if isinstance(detail, Mapping) and isinstance(detail.get("stdout"), str):
            parts = [part for part in (detail["stdout"], detail.get("stderr")) if part]
            running = detail.get("backgroundTaskId") or detail.get("interrupted")
            return ShellEnd(None if running else 0, "\n".join(parts))
        return ShellEnd(0, text)

    # -- the end ----------------------------------------------------------------------------------------

    def _end_of_turn(self, record: ClaudeLine) -> None:
        self._result = record
        self.notes.session_id = self.notes.session_id or record.session_id
        self.total, self.notes.usage = self.usage(record)

    def usage(self, record: ClaudeLine) -> tuple[Usage | None, Usage | None]:
        """Counters of the session and of this turn, from the last line."""
        spent = list((record.model_usage or {}).values())
        if not spent:
            return None, None
        invented = any(part.cost_basis == "unknown" for part in spent)
        total = token_usage(
            input=sum(part.input_tokens for part in spent),
            output=sum(part.output_tokens for part in spent),
            cache_read=sum(part.cache_read_input_tokens for part in spent),
            cache_write=sum(part.cache_creation_input_tokens for part in spent),
            cost_usd=None if invented else record.total_cost_usd,
        )
        return total, self.share(total)

    def share(self, total: Usage) -> Usage:
        """This turn's part of the session's counters."""
        return minus(total, self._before) if self._before else total

    def _outcome(self, exit: Exit) -> Outcome:
        record = self._result
        if record is None:
            return died(exit)
        errors = [*(record.errors or ()), record.error]
        reason = clipped([*map(_text_of, errors), record.result, self._said])
        if record.subtype in ("error_max_turns", "error_max_budget_usd"):
            return Outcome("limit", reason or record.subtype, "limit")
        if not record.is_error and record.subtype == "success" and exit.code == 0:
            return SUCCESS
        if not record.is_error and record.subtype == "success":
            return died(exit)
        return Outcome("failed", reason or self._retrying or "the turn failed", self._cause(record))

    def _cause(self, record: ClaudeLine) -> str:
        if record.terminal_reason in ("api_error", "prompt_too_long") or record.api_error_status is not None:
            return "model"
        return "model" if self._said or self._retrying else "harness"


def _blocks(message: _Message) -> list[_Block]:
    content = message.content
    return content if type(content) is list else [_Block("text", text=str(content))]


def _texts(message: _Message) -> list[str]:
    return [block.text for block in _blocks(message)]


def _text_of(error: Any) -> str | None:
    if isinstance(error, Mapping):
        message = error.get("message")
        return message if isinstance(message, str) else as_text(dict(error))
    return error if isinstance(error, str) else None
