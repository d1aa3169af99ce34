"""The journal of one turn of a command harness, from its stdout lines, its exit and the shell's trace."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from sphynx.journal.command_lines import parse, why_ignored
from sphynx.journal.events import Command, Event, Finished, Started, Usage

FAILED = "failed:"
LEAD = "The agent failed"


class CommandJournal:
    """Feed it lines as they are read; record what each call returns, in that order.

    After ``finish`` and ``trace`` the journal is complete: only then raise ``failure``, if there is one.
    """

    def __init__(self) -> None:
        self.usage: Usage | None = None
        """Tokens of all ``Usage`` lines together; ``None`` while there was none."""
        self.session_id: str | None = None
        self.model: str | None = None
        self.failure: str | None = None
        """Why the agent says it failed: the last ``failed:`` reason."""
        self.reason: str | None = None
        """The last reason the turn finished with."""
        self.ignored = 0
        """Lines that name an event (``_tag``) and are none; ``ignored_why`` tells of the first."""
        self.ignored_why: str | None = None
        # A million commands must not be kept as text only to tell them from the trace's.
        self._printed = array("q")

    def feed(self, line: bytes, now_ms: int) -> Event | None:
        """The event to record for ``line``, read at ``now_ms``; ``None`` when it adds nothing."""
        found = parse(line, now_ms)
        if found is None:
            if b'"_tag"' in line:
                self._ignore(line)
            return None
        if isinstance(found, Usage):
            self.usage = found if self.usage is None else self.usage + found
            return None
        if isinstance(found, Command):
            self._printed.append(hash(found.command))
        elif isinstance(found, Started):
            return self._started(found)
        elif isinstance(found, Finished):
            self._finished(found.reason)
        return found

    def finish(self, exit_code: int, now_ms: int) -> list[Event]:
        """The process has ended: a ``Finished`` with ``exit N`` unless it printed one itself."""
        if self.reason is not None:
            return []
        self.reason = f"exit {exit_code}"
        return [Finished(reason=self.reason, at=now_ms)]

    def trace(self, commands: Iterable[tuple[int, str]]) -> list[Event]:
        """Commands the shell's recorder saw (epoch ms, text) that the process did not print itself."""
        seen = list(commands)
        wanted = {hash(text) for _, text in seen}
        printed = wanted.intersection(self._printed)
        return [
            Command(command=text, exit_code=None, output="", at=at)
            for at, text in seen
            if hash(text) not in printed
        ]

    def _ignore(self, line: bytes) -> None:
        """Count it; a million such lines are looked at only until the first that names an event."""
        if self.ignored_why is None:
            self.ignored_why = why_ignored(line)
        if self.ignored_why is not None:
            self.ignored += 1

    def _started(self, event: Started) -> Started | None:
        if self.session_id is not None:
            return None
        self.session_id, self.model = event.session_id, event.model
        return event

    def _finished(self, reason: str) -> None:
        self.reason = reason
        if reason.startswith(FAILED):
            rest = reason[len(FAILED) :].strip()
            self.failure = f"{LEAD}: {rest}" if rest else LEAD
