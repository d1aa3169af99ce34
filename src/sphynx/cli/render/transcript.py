"""A run's transcript: a pure state machine from events to lines. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sphynx.cli.render import actions, figures
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import clean, cut, fold, one_line, pad, width, wrap
from sphynx.journal.events import Command, Event, FileChange, Finished, Message, Started, ToolCall

_SLOW_MS = 1000
"""A command shorter than this shows no duration."""
_VERB = 8
_VERB_COLOURS = {"run": "blue", "read": "dim", "search": "cyan", "write": "green", "tool": "yellow"}
_TRACED = 12
"""Commands the shell recorder saw that are shown per turn; it may have seen hundreds."""
_LONGEST = 2_000
_LIVE_LINES = 200
_LIVE_CHARACTERS = 40_000


class Speaker(NamedTuple):
    """Who is heard: one trial. ``ordinal`` is ``None`` where a run has a single trial."""

    case: str
    variant: str
    key: str
    ordinal: int | None = None


@dataclass(slots=True)
class _Turn:
    number: int = 0
    open: bool = False
    answering: bool = False
    replied: bool = False
    started_at: int | None = None
    ended_at: int | None = None
    cost: float | None = None
    failure: str | None = None
    finished: bool = False
    """The agent said so; what follows was seen by the shell recorder."""
    traced: int = 0


@dataclass(slots=True)
class Transcript:
    """Lines of several trials as their events arrive, each under a header naming its speaker.

    ``whole`` keeps messages of any length; otherwise one message takes at most 200 lines.
    """

    style: Style
    whole: bool = False
    headless: bool = False
    """No header naming the speaker: there is only one."""
    _current: str | None = None
    _turns: dict[str, _Turn] = field(default_factory=dict)
    _closed: set[str] = field(default_factory=set)

    def event(self, speaker: Speaker, event: Event) -> list[str]:
        """The lines ``event`` adds; none for a trial that has settled."""
        if speaker.key in self._closed or isinstance(event, Started):
            return []
        turn = self._turns.setdefault(speaker.key, _Turn())
        if isinstance(event, Finished):
            turn.finished = True
            turn.ended_at = event.at
            if event.reason.startswith("failed:"):
                turn.failure = one_line(event.reason[:_LONGEST].removeprefix("failed:"))
            return []
        lines = self._header(speaker)
        if isinstance(event, Message):
            return lines + self._message(turn, event)
        lines += self._agent(turn)
        if turn.finished:
            turn.traced += 1
            if turn.traced > _TRACED and not self.whole:
                return lines
        return [*lines, self._action(event)]

    def output(self, speaker: Speaker, stage: str, text: str) -> list[str]:
        """Lines a step of the trial printed, such as ``prepare``."""
        body = wrap(text, self.style.width - 8 - len(stage))
        if speaker.key in self._closed or not body:
            return []
        lead = self.style.paint(f"  {stage} │ ", "dim")
        return self._header(speaker) + [lead + line for line in body]

    def settled(self, speaker: Speaker, verdict: Sequence[str], failure: str | None = None) -> list[str]:
        """The trial's last lines: its open turn closes, then ``verdict`` (``results.verdict.lines``)."""
        if speaker.key in self._closed:
            return []
        turn = self._turns.pop(speaker.key, None) or _Turn()
        lines = self._header(speaker) + self._close(turn, failure)
        self._closed.add(speaker.key)
        self._current = None
        return [*lines, "", *verdict]

    def _header(self, speaker: Speaker) -> list[str]:
        if self._current == speaker.key or self.headless:
            return []
        self._current = speaker.key
        named = ((speaker.case, "bold"), (speaker.variant, "dim"))
        parts = [self.style.paint(one_line(text), how) for text, how in named]
        if speaker.ordinal is not None:
            parts[-1] += self.style.paint(f"  #{speaker.ordinal}", "dim")
        return ["", *fold(parts, "  ", self.style.width)]

    def _message(self, turn: _Turn, event: Message) -> list[str]:
        if event.role == "user":
            lines = self._close(turn, None)
            turn.number += 1
            turn.open = True
            turn.started_at = event.at
            return [*lines, "", "  " + self.style.paint("❯ User", "bold", "blue"), *self._body(event.text)]
        lines = self._agent(turn)
        turn.replied = True
        turn.ended_at = event.at
        if event.usage is not None and event.usage.cost_usd is not None:
            turn.cost = (turn.cost or 0.0) + event.usage.cost_usd
        return lines + self._body(event.text)

    def _agent(self, turn: _Turn) -> list[str]:
        if turn.answering:
            return []
        turn.answering = True
        if not turn.open:
            turn.open = True
            turn.number = max(1, turn.number)
        return ["  " + self.style.paint("◆ Agent", "bold", "cyan")]

    def _body(self, text: str) -> list[str]:
        room = self.style.width - 4
        if self.whole:
            return ["    " + line if line else "" for line in wrap(text, room)]
        lines = wrap(text[:_LIVE_CHARACTERS], room)
        if len(text) > _LIVE_CHARACTERS or len(lines) > _LIVE_LINES:
            lines[_LIVE_LINES:] = [self.style.paint(f"… {len(text):,} characters in all", "dim")]
        return ["    " + line if line else "" for line in lines]

    def _action(self, event: Command | ToolCall | FileChange) -> str:
        tail = ""
        if isinstance(event, Command):
            action = actions.of_command(event.command)
            if event.exit_code not in (None, 0):
                tail = "  " + self.style.paint(f"✗ exit {event.exit_code}", "red")
        elif isinstance(event, ToolCall):
            action = actions.of_tool(event.name, event.input)
            if event.error:
                tail = "  " + self.style.paint("✗ " + cut(one_line(event.error[:_LONGEST]), 60), "red")
        else:
            action = actions.of_files(event.paths)
        slow = _span(event.started_at, event.at)
        if slow is not None and slow >= _SLOW_MS:
            tail = f"  {figures.duration(slow)}{tail}"
        verb = self.style.paint(pad(action.verb, _VERB), _VERB_COLOURS[action.kind])
        lead = f"    {self.style.paint('├', 'dim')} {verb} "
        room = self.style.width - 6 - max(_VERB, len(action.verb)) - 1 - width(tail)
        return (lead + cut(action.subject, max(12, room))).rstrip() + tail

    def _close(self, turn: _Turn, failure: str | None) -> list[str]:
        """The corner line of an open turn; the turn is then ready for the next user message."""
        if not turn.open:
            return []
        reason = turn.failure or failure
        parts = [f"turn {turn.number}"]
        spent = _span(turn.started_at, turn.ended_at)
        if spent is not None:
            parts.append(figures.duration(spent))
        if turn.cost is not None:
            parts.append(figures.money(turn.cost))
        if not turn.replied:
            parts.append(one_line(clean(reason)) if reason else "no reply")
        lines: list[str] = []
        if turn.traced > _TRACED and not self.whole:
            more = f"… {figures.plural(turn.traced - _TRACED, 'more command')} seen in its shells"
            lines.append("    " + self.style.paint(f"├ {more}", "dim"))
        corner = "└ " if turn.answering else ""
        line = "    " + self.style.paint(cut(corner + " · ".join(parts), self.style.width - 4), "dim")
        turn.open = turn.answering = turn.replied = turn.finished = False
        turn.started_at = turn.ended_at = turn.cost = turn.failure = None
        turn.traced = 0
        return [*lines, line]


def _span(start: int | None, end: int | None) -> int | None:
    return end - start if start is not None and end is not None and end >= start else None
