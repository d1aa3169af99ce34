"""Every event of a trial on its way: kept for the checks as it was, stored and shown redacted.

Checks read what the agent really wrote, but a chatty agent must not fill the memory: at most
``MAX_EVENTS`` events and ``MAX_CHARS`` characters are kept for them. What is beyond that is in the journal
on disk all the same, counts go on, the answer is always the last message, and ``turns()`` says how many
events it leaves out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from sphynx.journal import turns
from sphynx.journal.events import Command, Event, FileChange, Message, Started, ToolCall
from sphynx.journal.overview import Overview
from sphynx.redaction import Redactor

MAX_EVENTS = 20_000
MAX_CHARS = 8_000_000
_KEPT_OUTPUT = 8_192
"""Characters kept of command output and tool payloads; checks see 4,000 and a flag that says so."""


class TrialJournal:
    """Takes events in order. ``write`` stores one redacted event; ``watch`` callables only look at it."""

    def __init__(
        self,
        redactor: Redactor,
        write: Callable[[Event], None],
        watch: Iterable[Callable[[Event], None]] = (),
    ) -> None:
        self._redactor = redactor
        self._write = write
        self._watch = tuple(watch)
        self._kept: list[Event] = []
        self._room = MAX_CHARS
        self._paths: dict[str, None] = {}
        self.opening = ""
        self.overview = Overview()
        self._answer = ""
        self.dropped = 0
        """Events that were stored but are not handed to checks."""
        self.turn_count = 0
        self.commands = 0
        self.failed_commands = 0
        self.session_id: str | None = None
        self.model: str | None = None
        self.redacted = False
        """Whether checks are handed something that is stored in another way."""
        self.lost: str | None = None
        """Why an event could not be stored; the trial's record is then not complete."""

    def open_turn(self, text: str) -> None:
        """A person speaks: the opening prompt or a reply."""
        if not self.turn_count:
            self.opening = text
        self.turn_count += 1
        self.emit(Message(role="user", text=text, at=now_ms()))

    def emit(self, event: Event) -> None:
        """Count, keep, redact, store, show."""
        if event.at is None:
            event = msgspec.structs.replace(event, at=now_ms())
        self._count(event)
        self.overview.add(event)
        self._keep(event)
        clean = self._redactor.event(event)
        self.redacted = self.redacted or clean is not event
        if self.lost is None:
            try:
                self._write(clean)
            except OSError as error:
                self.lost = error.strerror or str(error)
        for watch in self._watch:
            watch(clean)

    def replay(self, events: Iterable[Event], *, opening: str, turn_count: int) -> None:
        """Take the events of a journal that another process has written."""
        self.opening = opening
        for event in events:
            self.emit(event)
        self.turn_count = turn_count

    def answer(self) -> str:
        """The agent's last message."""
        return self._answer

    def transcript(self) -> str:
        """Every message of the agent that was kept, with a blank line between."""
        return turns.transcript(self._kept)

    def turns(self) -> list[dict[str, Any]]:
        """The conversation as a check's ``turns()`` gives it; ``eventsDropped`` counts what it leaves out."""
        built = turns.build(self._kept, self.opening)
        if self.dropped:
            built[-1]["eventsDropped"] = self.dropped
            built[-1]["agentText"] = self._answer
        return built

    def paths(self) -> list[str]:
        """Reported changed paths, first seen first, as reported."""
        return list(self._paths)

    def _count(self, event: Event) -> None:
        if isinstance(event, Command):
            self.commands += 1
            self.failed_commands += event.exit_code not in (None, 0)
        elif isinstance(event, Message):
            if event.role == "assistant":
                self._answer = event.text
        elif isinstance(event, FileChange):
            if len(self._paths) < MAX_EVENTS:
                self._paths.update(dict.fromkeys(event.paths))
        elif isinstance(event, Started) and self.session_id is None:
            self.session_id, self.model = event.session_id, event.model

    def _keep(self, event: Event) -> None:
        event = _trimmed(event)
        size = _size(event)
        if len(self._kept) >= MAX_EVENTS or size > self._room:
            self.dropped += 1
            return
        self._room -= size
        self._kept.append(event)


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def _trimmed(event: Event) -> Event:
    if isinstance(event, Command):
        if len(event.output) > _KEPT_OUTPUT:
            return msgspec.structs.replace(event, output=event.output[:_KEPT_OUTPUT])
    elif isinstance(event, ToolCall):
        payloads = (("input", event.input), ("output", event.output), ("error", event.error))
        cut = {name: text[:_KEPT_OUTPUT] for name, text in payloads if text and len(text) > _KEPT_OUTPUT}
        return msgspec.structs.replace(event, **cut) if cut else event
    return event


def _size(event: Event) -> int:
    if isinstance(event, Command):
        return len(event.command) + len(event.output)
    if isinstance(event, Message):
        return len(event.text)
    if isinstance(event, ToolCall):
        return len(event.name) + len(event.input or "") + len(event.output or "") + len(event.error or "")
    if isinstance(event, FileChange):
        return sum(map(len, event.paths))
    return 64
