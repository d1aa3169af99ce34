"""An agent that was asked for words only: what it said, and what it did instead."""

from __future__ import annotations

from sphynx.journal.events import Command, Event, FileChange, Message, ToolCall


class Spoken:
    """Takes the events of one turn. ``text`` is the last message, ``tools`` what was used, in order."""

    def __init__(self) -> None:
        self.text = ""
        self.tools: list[str] = []

    def take(self, event: Event) -> None:
        """One event of the turn."""
        if isinstance(event, Message):
            if event.role == "assistant":
                self.text = event.text
        elif isinstance(event, Command):
            self.tools.append("shell")
        elif isinstance(event, ToolCall):
            self.tools.append(event.name)
        elif isinstance(event, FileChange):
            self.tools.append("files")

    @property
    def used(self) -> str:
        """The tools, named once each, for a message; empty when there were none."""
        names = list(dict.fromkeys(self.tools))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return ", ".join(names[:3]) + more
