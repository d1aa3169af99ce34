"""Recorded transcripts and how tests read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphynx.harnesses.transcripts.claude import ClaudeReader
from sphynx.harnesses.transcripts.codex import CodexReader
from sphynx.harnesses.transcripts.cursor import CursorReader
from sphynx.harnesses.transcripts.fx import FxReader
from sphynx.harnesses.transcripts.gemini import GeminiReader
from sphynx.harnesses.transcripts.opencode import OpenCodeReader
from sphynx.harnesses.transcripts.pi import PiReader
from sphynx.harnesses.transcripts.qwen import QwenReader
from sphynx.harnesses.transcripts.reading import Exit, Notes, Outcome
from sphynx.journal.events import Command, Event, FileChange, Message, ToolCall

DATA = Path(__file__).parent.parent.parent / "data" / "transcripts"
READERS: dict[str, Callable[[], Any]] = {
    "codex": CodexReader,
    "claude": ClaudeReader,
    "gemini": GeminiReader,
    "qwen": QwenReader,
    "opencode": OpenCodeReader,
    "pi": PiReader,
    "cursor": CursorReader,
    "fx": FxReader,
}
RAN = ("codex", "claude", "gemini", "qwen", "opencode", "pi")
"""Agents whose transcripts were recorded from the real program."""
NOW = 1_000


class Turn:
    """One read transcript."""

    def __init__(self, events: list[Event], notes: Notes, outcome: Outcome) -> None:
        self.events = events
        self.notes = notes
        self.outcome = outcome

    @property
    def commands(self) -> list[tuple[str, int | None, str]]:
        found = [event for event in self.events if isinstance(event, Command)]
        return [(event.command, event.exit_code, event.output) for event in found]

    @property
    def files(self) -> list[str]:
        return [path for event in self.events if isinstance(event, FileChange) for path in event.paths]

    @property
    def messages(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Message)]

    @property
    def tools(self) -> list[ToolCall]:
        return [event for event in self.events if isinstance(event, ToolCall)]


def lines_of(agent: str, name: str) -> list[bytes]:
    """The recorded lines of one scenario."""
    return (DATA / agent / f"{name}.jsonl").read_bytes().splitlines()


def read(agent: str, lines: list[Any], *, code: int = 0, stderr: str = "", reader: Any = None) -> Turn:
    """Read lines (bytes, or objects that become JSON) to the end of the process."""
    reader = reader or READERS[agent]()
    events: list[Event] = []
    for line in lines:
        raw = line if isinstance(line, bytes) else json.dumps(line).encode()
        events += reader.read(raw, NOW)
    left, outcome = reader.end(Exit(code, stderr), NOW + 1)
    return Turn([*events, *left], reader.notes, outcome)


def recorded(agent: str, name: str, *, code: int = 0, stderr: str = "") -> Turn:
    """Read a recorded scenario, for Gemini with its session file."""
    reader = READERS[agent]()
    session = DATA / agent / f"{name}.session.jsonl"
    if agent != "gemini" or not session.exists():
        return read(agent, list(lines_of(agent, name)), code=code, stderr=stderr, reader=reader)
    events: list[Event] = []
    for line in lines_of(agent, name):
        events += reader.read(line, NOW)
    for line in session.read_bytes().splitlines():
        events += reader.session(line, NOW)
    left, outcome = reader.end(Exit(code, stderr), NOW + 1)
    return Turn([*events, *left], reader.notes, outcome)
