"""What an agent did, as a check may ask for it: commands, files, tools, web pages, errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sphynx.journal.events import Command, Event, FileChange, Message, ToolCall, Usage
from sphynx.journal.tool_names import KINDS, kind_of

MOST = 10_000
"""Commands, paths, addresses and errors that are listed of each; the counts go on."""
_LONGEST = 2_000
_PATHS = ("file_path", "filePath", "absolute_path", "path", "notebook_path", "target_file")


class Overview:
    """Takes a trial's events as they arrive. ``summary`` is plain JSON under the wire's camelCase keys."""

    def __init__(self) -> None:
        self._commands: list[dict[str, Any]] = []
        self._failed = 0
        self._read: dict[str, None] = {}
        self._modified: dict[str, None] = {}
        self._fetched: dict[str, None] = {}
        self._errors: list[str] = []
        self._tools: dict[str, int] = dict.fromkeys(KINDS, 0)
        self._turns = 0

    def add(self, event: Event) -> None:
        """Count one more event."""
        if isinstance(event, Command):
            self._tools["shell"] += 1
            self._failed += event.exit_code not in (None, 0)
            if len(self._commands) < MOST:
                self._commands.append({"command": event.command[:_LONGEST], "exitCode": event.exit_code})
        elif isinstance(event, FileChange):
            self._tools[_known(event.kind)] += event.kind is not None
            _note(self._modified, *event.paths)
        elif isinstance(event, ToolCall):
            self._tool(event)
        elif isinstance(event, Message):
            self._turns += event.role == "user"

    def _tool(self, event: ToolCall) -> None:
        kind = _known(event.kind or kind_of(event.name))
        self._tools[kind] += 1
        if event.error is not None or event.status in ("error", "failed"):
            if len(self._errors) < MOST:
                self._errors.append(f"{event.name}: {event.error or 'failed'}"[:_LONGEST])
            return
        if kind == "file_read":
            _note(self._read, *_values(event.input, _PATHS))
        elif kind == "web_fetch":
            _note(self._fetched, *_values(event.input, ("url", "uri")))

    def summary(self, usage: Usage | None, thinking: int, workspace: str = "") -> dict[str, Any]:
        """Everything so far, paths relative to ``workspace`` where they are below it.

        ``tokens`` is ``None`` when the agent reported none.
        """
        return {
            "shellCommands": list(self._commands),
            "failedCommands": self._failed,
            "filesRead": _relative(self._read, workspace),
            "filesModified": _relative(self._modified, workspace),
            "toolCalls": dict(self._tools),
            "totalToolCalls": sum(self._tools.values()),
            "webFetches": list(self._fetched),
            "totalTurns": self._turns,
            "errors": list(self._errors),
            "thinkingBlocks": thinking,
            "tokens": _tokens(usage),
        }


def _relative(paths: Iterable[str], workspace: str) -> list[str]:
    """Each file once, though agents name some by their whole path and some from the workspace."""
    lead = f"{workspace}/" if workspace else ""
    return list(dict.fromkeys(path.removeprefix(lead).removeprefix("./") for path in paths))


def _tokens(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cacheRead": usage.cache_read_tokens,
        "cacheWrite": usage.cache_write_tokens,
        "total": usage.total,
    }


def _known(kind: str | None) -> str:
    return kind if kind in KINDS else "unknown"


def _note(seen: dict[str, None], *texts: str) -> None:
    if len(seen) < MOST:
        seen.update(dict.fromkeys(text[:_LONGEST] for text in texts))


def _values(text: str | None, names: tuple[str, ...]) -> list[str]:
    """The first of the named fields of a tool's input; a list of paths counts whole."""
    try:
        fields = msgspec.json.decode((text or "").encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return []
    if not isinstance(fields, Mapping):
        return []
    found = next((fields[name] for name in names if isinstance(fields.get(name), str)), None)
    if found is not None:
        return [found]
    many = fields.get("paths")
    return [path for path in many if isinstance(path, str)] if isinstance(many, list) else []
