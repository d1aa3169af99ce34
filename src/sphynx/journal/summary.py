"""What a journal adds up to."""

from __future__ import annotations

from collections.abc import Iterable

from sphynx.journal.events import Command, Event, FileChange, Finished, Message, Started


class Tally:
    """Counts of a trial, kept while its events arrive."""

    __slots__ = (
        "_files",
        "answer",
        "commands",
        "events",
        "failed_commands",
        "finished",
        "model",
        "session_id",
        "turns",
    )

    def __init__(self) -> None:
        self.events = 0
        self.commands = 0
        self.failed_commands = 0
        """Commands whose exit code is known and not 0."""
        self.turns = 0
        """User messages, so agent turns that were asked for."""
        self.answer = ""
        """The last assistant message."""
        self.session_id: str | None = None
        self.model: str | None = None
        """Session and model of the first ``Started``."""
        self.finished: str | None = None
        """The last ``Finished`` reason."""
        self._files: dict[str, None] = {}

    def add(self, event: Event) -> None:
        """Count one more event."""
        self.events += 1
        if isinstance(event, Command):
            self.commands += 1
            self.failed_commands += event.exit_code not in (None, 0)
        elif isinstance(event, Message):
            if event.role == "assistant":
                self.answer = event.text
            else:
                self.turns += 1
        elif isinstance(event, FileChange):
            self._files.update(dict.fromkeys(event.paths))
        elif isinstance(event, Started):
            if self.session_id is None:
                self.session_id, self.model = event.session_id, event.model
        elif isinstance(event, Finished):
            self.finished = event.reason

    @property
    def files_changed(self) -> list[str]:
        """Distinct changed paths, in the order they were first seen."""
        return list(self._files)


def counts(events: Iterable[Event]) -> Tally:
    """The tally of a whole journal."""
    tally = Tally()
    for event in events:
        tally.add(event)
    return tally
