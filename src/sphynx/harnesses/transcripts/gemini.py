"""Reads ``gemini --output-format stream-json``, and the session file for what the stream leaves out."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sphynx.harnesses.transcripts.reading import (
    SUCCESS,
    Exit,
    Notes,
    Outcome,
    api_words,
    as_text,
    clipped,
    died,
    object_of,
    set_aside,
    token_usage,
)
from sphynx.harnesses.transcripts.tool_events import NAMING, Call, ShellEnd, settled, signalled, unfinished
from sphynx.journal.events import Event, Message, Started, ToolCall, Usage
from sphynx.journal.tool_names import kind_of

_NOTHING: tuple[Event, ...] = ()
_REPORT = re.compile(
    r"\n(?:Exit Code: (\d+)\n)?(?:Signal: ([^\n]*)\n)?(Background PIDs: [^\n]*\n)?"
    r"Process Group PGID: [^\n]*\s*(?:</untrusted_context>\s*)?$"
)
"""The end of a command's result. It has no exit code when that is 0."""
_TURN_LIMIT, _NO_KEY = 53, 41
_NOISE = ("YOLO mode is enabled", "Ripgrep is not available", "Warning: ", "[STARTUP]")
"""What it says on stderr in every run."""


class _Stats(msgspec.Struct, gc=False):
    total_tokens: int = 0
    input_tokens: int = 0
    cached: int = 0
    models: dict[str, Any] = {}


class _Line(msgspec.Struct, gc=False):
    type: str
    session_id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str = ""
    tool_name: str = ""
    tool_id: str = ""
    parameters: msgspec.Raw = msgspec.Raw(b"null")
    status: str | None = None
    output: Any = None
    error: Any = None
    message: str | None = None
    stats: _Stats | None = None


class _Result:
    """A command's result whose exit code has not been seen yet."""

    def __init__(self, call: Call, output: str, at: int) -> None:
        self.call = call
        self.output = output
        self.at = at
        self.code: int | None = None
        self.known = False

    def event(self) -> Event:
        # A command that prints nothing and fails is given a sentence for its output.
        output = "" if self.output == f"Command exited with code: {self.code}" else self.output
        return settled(self.call, "", failed=False, now=self.at, end=ShellEnd(self.code, output))


class GeminiReader:
    """One turn of Gemini CLI.

    The stream has no exit codes, so a finished command waits, and with it whatever follows, until
    :meth:`session` has been given the session file's record of it; ``waiting`` says that one does.
    """

    def __init__(self) -> None:
        self.notes = Notes()
        self._decode = msgspec.json.Decoder(_Line).decode
        self._open: dict[str, Call] = {}
        self._held: deque[Event | _Result] = deque()
        self._results: dict[str, _Result] = {}
        self._codes: dict[str, int | None] = {}
        self._text: list[str] = []
        self._status: str | None = None
        self._error: str | None = None
        self._steps: dict[str, tuple[Usage, int]] = {}

    @property
    def waiting(self) -> bool:
        """Whether a command's exit code is still to come from the session file."""
        return bool(self._held)

    def read(self, line: bytes, now: int) -> Sequence[Event]:
        try:
            record = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return set_aside(self.notes, line)
        kind = record.type
        if kind == "message":
            if record.role == "assistant":
                self._text.append(record.content)
            return _NOTHING
        if not (self._text or self._held):
            # Nothing is to be said before it, which is most lines of a long turn.
            if kind == "tool_use":
                self._open[record.tool_id] = _called(record, now)
                return _NOTHING
            if kind == "tool_result":
                call = self._open.get(record.tool_id)
                if call is not None and call.command is None:
                    del self._open[record.tool_id]
                    return (_answered(call, record, now),)
        events = self._message(now) if self._text else []
        self._take(record, line, now, events)
        return events if not self._held else self._queued(events)

    def session(self, line: bytes, now: int) -> Sequence[Event]:
        """Events that a line of the session file sets free."""
        record = object_of(line)
        if record is None or record.get("type") != "gemini":
            return _NOTHING
        self._count(record)
        calls = record.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                self._learn(call)
        return self._released()

    def end(self, exit: Exit, now: int) -> tuple[Sequence[Event], Outcome]:
        self._held.extend(self._message(now))
        self._held.extend(unfinished(call, now) for call in self._open.values())
        self._open.clear()
        left = [item.event() if isinstance(item, _Result) else item for item in self._held]
        self._held.clear()
        self.count_steps()
        return left, self._outcome(exit)

    def count_steps(self) -> None:
        """Count from the session file what no last line has counted."""
        if self.notes.usage is None and self._steps:
            self.notes.usage = _sum([usage for usage, _ in self._steps.values()])
        self.notes.thinking = sum(thoughts > 0 for _, thoughts in self._steps.values())

    def _outcome(self, exit: Exit) -> Outcome:
        if exit.code == _TURN_LIMIT:
            return Outcome("limit", self._error or "the agent reached its turn limit", "limit")
        if self._error is not None and (exit.code != 0 or self._status != "success"):
            return Outcome("failed", api_words(self._error), "model")
        if self._status == "success" and exit.code == 0:
            return SUCCESS
        said = [line for line in exit.stderr.splitlines() if not line.startswith(_NOISE)]
        ended = died(Exit(exit.code, "\n".join(said), exit.timed_out))
        return Outcome("failed", ended.reason, "model") if exit.code == _NO_KEY else ended

    def _take(self, record: _Line, line: bytes, now: int, events: list[Event]) -> None:
        kind = record.type
        if kind == "init":
            self.notes.session_id = record.session_id
            events.append(Started(session_id=record.session_id or "", model=record.model or "", at=now))
        elif kind == "tool_use":
            self._open[record.tool_id] = _called(record, now)
        elif kind == "tool_result" and record.tool_id in self._open:
            self._result(self._open.pop(record.tool_id), record, now, events)
        elif kind == "result":
            self._status = record.status
            self._error = _message_of(record.error) or self._error
            self._total(record.stats)
        elif kind == "error":
            self._error = record.message or _message_of(record.error)
        elif kind != "tool_result":
            set_aside(self.notes, line)

    def _result(self, call: Call, record: _Line, now: int, events: list[Event]) -> None:
        if call.command is None or record.status != "success":
            events.append(_answered(call, record, now))
            return
        result = self._results[call.id] = _Result(call, as_text(record.output) or "", now)
        if call.id in self._codes:
            result.known, result.code = True, self._codes[call.id]
            events.append(result.event())
            return
        self._held.extend([*events, result])
        events.clear()

    def _learn(self, call: Mapping[str, Any]) -> None:
        call_id, text = str(call.get("id")), _result_text(call.get("result"))
        if text is None:
            return
        found = _REPORT.search(text)
        code = None
        if found is not None and not found[3]:
            code = signalled(found[2] or "", int(found[1] or 0))
        self._codes[call_id] = code
        if call_id in self._results:
            self._results[call_id].known, self._results[call_id].code = True, code

    def _queued(self, events: list[Event]) -> list[Event]:
        """Put events behind what waits, and give what no longer does."""
        self._held.extend(events)
        return self._released()

    def _released(self) -> list[Event]:
        free: list[Event] = []
        while self._held:
            item = self._held[0]
            if isinstance(item, _Result):
                if not item.known:
                    break
                item = item.event()
            self._held.popleft()
            free.append(item)
        return free

    def _message(self, now: int) -> list[Event]:
        """What the pieces of text since the last line come to."""
        text = "".join(self._text)
        self._text.clear()
        return [Message("assistant", text, at=now)] if text.strip() else []

    def _count(self, record: Mapping[str, Any]) -> None:
        """A step is recorded again when its tools are done; the last record of an id stands."""
        self.notes.model = str(record.get("model") or "") or self.notes.model
        tokens = record.get("tokens")
        if isinstance(tokens, Mapping):
            counts = {name: value for name, value in tokens.items() if isinstance(value, int)}
            cached, thoughts = counts.get("cached", 0), counts.get("thoughts", 0)
            usage = token_usage(
                input=counts.get("input", 0) - cached,
                output=counts.get("output", 0) + thoughts,
                cache_read=cached,
            )
            self._steps[str(record.get("id"))] = (usage, thoughts)

    def _total(self, stats: _Stats | None) -> None:
        if stats is None:
            return
        # Reasoning is part of the total only.
        self.notes.usage = token_usage(
            input=stats.input_tokens - stats.cached,
            output=stats.total_tokens - stats.input_tokens,
            cache_read=stats.cached,
        )
        self.notes.model = self.notes.model or next(iter(stats.models), None)


def _result_text(result: Any) -> str | None:
    """The text a tool gave the model; ``None`` while there is no result."""
    first = result[0] if isinstance(result, list) and result else None
    response = first.get("functionResponse") if isinstance(first, Mapping) else None
    answer = response.get("response") if isinstance(response, Mapping) else None
    output = answer.get("output", answer.get("error")) if isinstance(answer, Mapping) else None
    return output if isinstance(output, str) else None


def _sum(usages: Sequence[Usage]) -> Usage:
    total = usages[0]
    for usage in usages[1:]:
        total = total + usage
    return total


def _called(record: _Line, now: int) -> Call:
    """A call. What it asks for stays the text it is unless a command or a path is to be found in it."""
    kind = kind_of(record.tool_name)
    text = str(record.parameters, "utf-8", "replace")
    given: Any = None if text == "null" else msgspec.json.decode(text) if kind in NAMING else text
    return Call(record.tool_id, record.tool_name, given, now, kind)


def _answered(call: Call, record: _Line, now: int) -> Event:
    """A call that ran no command, or was refused one."""
    output = record.output if type(record.output) is str else as_text(record.output) or ""
    if record.status == "success":
        if type(call.input) is str:
            return ToolCall(
                call.id, call.name, "completed", call.input, output, None, now, call.since, call.kind
            )
        return settled(call, output, failed=False, now=now)
    return settled(call, _message_of(record.error) or output, failed=True, now=now)


def _message_of(error: Any) -> str | None:
    if isinstance(error, Mapping):
        message = error.get("message")
        return clipped([message if isinstance(message, str) else None]) or None
    return error if isinstance(error, str) else None
