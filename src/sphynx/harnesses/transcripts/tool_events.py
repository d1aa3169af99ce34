"""A tool call and its result as one event: a command, a file change, or a call of another tool."""

from __future__ import annotations

from typing import Any, NamedTuple

from sphynx.harnesses.transcripts.reading import as_text
from sphynx.journal.events import Command, Event, FileChange, ToolCall
from sphynx.journal.tool_names import kind_of


class Call:
    """A tool call that was asked for at ``since`` (epoch milliseconds).

    ``kind`` is one of ``tool_names.KINDS``, ``command`` the command of a shell call, ``path`` the file of a
    call that writes or edits one.
    """

    __slots__ = ("command", "id", "input", "kind", "name", "path", "since")

    def __init__(self, id: str, name: str, input: Any, since: int | None, kind: str | None = None) -> None:
        self.id = id
        self.name = name
        self.input = input
        self.since = since
        self.kind = kind = kind or kind_of(name)
        self.command: str | None = None
        self.path: str | None = None
        if kind in NAMING and type(input) is dict:
            if kind == "shell":
                self.command = _text(input, _COMMANDS)
            else:
                self.path = _text(input, _PATHS)


_COMMANDS = ("command", "cmd")
_PATHS = ("file_path", "filePath", "absolute_path", "path", "notebook_path")
NAMING = frozenset(("shell", "file_write", "file_edit"))
"""Kinds whose input names a command or a file."""


def _text(fields: dict[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = fields.get(name)
        if type(value) is str:
            return value
    return None


class ShellEnd(NamedTuple):
    """How a command ended; ``code`` is ``None`` when the agent does not know, as for one left running."""

    code: int | None
    output: str


def settled(
    call: Call,
    text: str,
    *,
    failed: bool,
    now: int,
    end: ShellEnd | None = None,
    kind: str | None = None,
) -> Event:
    """The event of a call whose result came in. ``end`` is given when a command really ran."""
    if call.command is not None and end is not None:
        return Command(call.command, end.code, end.output, now, call.since)
    if call.path is not None and not failed:
        return FileChange((call.path,), at=now, started_at=call.since, tool=call.name, kind=call.kind)
    return ToolCall(
        call.id,
        call.name,
        "error" if failed else "completed",
        as_text(call.input),
        None if failed else text,
        text if failed else None,
        now,
        call.since,
        kind or call.kind,
    )


def signalled(signal: str, code: int | None) -> int | None:
    """An exit code as shells tell it: 128 and the signal's number when a signal ended the command."""
    if signal.isdigit() and int(signal) > 0:
        return 128 + int(signal)
    return code if signal in ("", "0", "(none)") else None


def unfinished(call: Call, now: int) -> Event:
    """The event of a call nobody saw the end of."""
    if call.command is not None:
        return Command(call.command, None, "", at=now, started_at=call.since)
    text = as_text(call.input)
    return ToolCall(call.id, call.name, None, text, at=now, started_at=call.since, kind=call.kind)
