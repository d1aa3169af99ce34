"""What people see of a run on stderr: a ``ResultSink`` that keeps the board and prints the transcript."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sphynx.cli.out import Out
from sphynx.cli.render import figures, grid
from sphynx.cli.render.board import Board
from sphynx.cli.render.live import Live
from sphynx.cli.render.problems import note_line
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import wrap
from sphynx.cli.render.transcript import Speaker, Transcript
from sphynx.cli.render.verdict import verdict_lines
from sphynx.contracts import TrialKey
from sphynx.journal.events import Event
from sphynx.schema.records import BatchRecord, TrialRecord

Mode = Literal["live", "plain", "silent"]
_LONGEST_LINE = 4_000
_SHOWN_EVENTS = 2_000
_SHOWN_CHARACTERS = 500_000
"""Of one trial's transcript, and again of what its steps print. The journal keeps every event."""


@dataclass(slots=True)
class _Told:
    """How much of one trial has been shown."""

    events: int = 0
    characters: int = 0
    hidden: int = 0
    printed: int = 0


class Screen:
    """Shows a run.

    ``live``: transcript lines scroll above a grid that redraws on :meth:`tick`. ``plain``: with one trial at
    a time lines come as they arise, otherwise each trial's transcript is printed whole when it settles, so
    that trials never mix in a log. ``silent``: notes only.
    """

    def __init__(
        self,
        err: Out,
        mode: Mode,
        *,
        jobs: int,
        in_order: bool,
        earlier: Mapping[str, Sequence[TrialRecord]] | None = None,
        on_batch: Callable[[Board], None] | None = None,
    ) -> None:
        self.boards: dict[str, Board] = {}
        self._err = err
        self._mode: Mode = mode
        self._jobs = jobs
        self._in_order = in_order or mode == "live"
        self._earlier = earlier or {}
        self._on_batch = on_batch
        self._shared = Transcript(err.style)
        self._own: dict[TrialKey, tuple[Transcript, list[str]]] = {}
        self._told: dict[TrialKey, _Told] = {}
        self._partial: dict[tuple[TrialKey, str], str] = {}
        self._started = time.monotonic()
        self._live = Live(err.write, self._footer) if mode == "live" else None
        self._dirty = False
        self._drawn_at = 0.0

    # What the engine tells.

    def batch_started(self, batch: BatchRecord) -> None:
        """A batch begins: its head line."""
        board = self.boards[batch.id] = Board.of(batch, self._earlier.get(batch.id, ()))
        if self._mode != "silent":
            recorded = len(board.records)
            self._lines(["", *grid.head_lines(board, self._err.style, jobs=self._jobs, recorded=recorded)])

    def trial_started(self, key: TrialKey) -> None:
        """A trial begins."""
        board = self.boards.get(key.batch_id)
        if board is not None:
            board.started(key, time.monotonic())
            self._dirty = True

    def event(self, key: TrialKey, event: Event) -> None:
        """Something the agent did."""
        if self._mode == "silent":
            return
        if self._partial:
            self._rest(key)
        told = self._told.setdefault(key, _Told())
        if told.events >= _SHOWN_EVENTS or told.characters >= _SHOWN_CHARACTERS:
            told.hidden += 1
            return
        told.events += 1
        told.characters += self._tell(key, lambda transcript, speaker: transcript.event(speaker, event))

    def output(self, key: TrialKey, stage: str, text: str) -> None:
        """Something a step of the trial printed: shown at once, also where transcripts wait."""
        if self._mode == "silent":
            return
        told = self._told.setdefault(key, _Told())
        if told.printed >= _SHOWN_CHARACTERS:
            return
        told.printed += len(text)
        if told.printed >= _SHOWN_CHARACTERS:
            text += f"\n… {stage} prints more than is shown here\n"
        self._show_output(key, stage, self._whole_lines(key, stage, text))

    def _show_output(self, key: TrialKey, stage: str, text: str) -> None:
        if not text.strip():
            return
        if self._in_order:
            self._lines(self._shared.output(self._speaker(key), stage, text))
            return
        who = self._speaker(key)
        number = "" if who.ordinal is None else f" #{who.ordinal}"
        lead = f"  {who.case} on {who.variant}{number}  {stage} │ "
        self._lines([lead + line for line in wrap(text, self._err.style.width)])

    def _whole_lines(self, key: TrialKey, stage: str, text: str) -> str:
        """Chunks arrive cut anywhere; only whole lines are shown, the rest waits for more."""
        text = self._partial.pop((key, stage), "") + text
        whole, newline, rest = text.rpartition("\n")
        if len(rest) > _LONGEST_LINE:
            return text
        if rest:
            self._partial[key, stage] = rest
        return whole + newline

    def _rest(self, key: TrialKey) -> None:
        for waiting in [item for item in self._partial if item[0] == key]:
            self._show_output(key, waiting[1], self._partial.pop(waiting))

    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None:
        """A trial ended: its verdict."""
        board = self.boards.get(key.batch_id)
        if board is not None:
            board.ended(record)
        self._dirty = True
        if self._mode == "silent" or record.status == "cancelled":
            return
        self._rest(key)
        told = self._told.pop(key, None)
        if told is not None and told.hidden:
            more = [f"    … {figures.plural(told.hidden, 'more event')}, all in the journal"]
            self._tell(key, lambda transcript, speaker: more)
        verdict = verdict_lines(record, self._err.style)
        self._tell(key, lambda transcript, speaker: transcript.settled(speaker, verdict, record.reason))
        own = self._own.pop(key, None)
        if own is not None:
            self._lines(own[1])

    def batch_ended(self, batch: BatchRecord) -> None:
        """A batch ended: whoever prints results may do so now, above the grid."""
        board = self.boards.get(batch.id)
        if board is None:
            return
        board.batch = batch
        if self._on_batch is not None:
            self._on_batch(board)

    def note(self, text: str) -> None:
        """A note of the engine."""
        self._lines([note_line(text, self._err.style)])

    # What the command asks.

    def tick(self) -> None:
        """Redraw when something changed, else as often as the spinner turns. Called ten times a second."""
        now = time.monotonic()
        if self._live is not None and (self._dirty or now - self._drawn_at >= 1 / grid.TURNS_A_SECOND):
            self._dirty = False
            self._drawn_at = now
            self._live.draw()

    def say(self, text: str) -> None:
        """One line at once."""
        self._lines([text])
        if self._live is not None:
            self._live.draw()

    def aside(self, write: Callable[[], None]) -> None:
        """Take the live grid away while ``write`` prints, so that stdout and stderr do not mix."""
        self.close()
        write()
        self._dirty = True

    def close(self) -> None:
        """Leave the terminal as a plain one: nothing queued, no grid, the cursor visible."""
        if self._live is not None:
            self._live.close()

    @property
    def running(self) -> int:
        """Trials that run now."""
        return sum(cell.status == "running" for board in self.boards.values() for cell in board.cells)

    def _footer(self, columns: int, lines: int) -> Sequence[str]:
        style = replace(self._err.style, width=columns)
        boards = [board for board in self.boards.values() if board.batch.status == "running"]
        if not boards:
            return []
        now = time.monotonic()
        status = grid.status_line(boards, self._jobs, now, self._started, style)
        return [*grid.live_lines(boards, style, now, height=lines - 1), status]

    def _tell(self, key: TrialKey, say: Callable[[Transcript, Speaker], list[str]]) -> int:
        """Show what ``say`` gives, now or when the trial settles; gives its characters."""
        speaker = self._speaker(key)
        if self._in_order:
            new = say(self._shared, speaker)
            self._lines(new)
        else:
            transcript, lines = self._own.setdefault(key, (Transcript(self._err.style), []))
            new = say(transcript, speaker)
            lines += new
        return sum(map(len, new))

    def _speaker(self, key: TrialKey) -> Speaker:
        board = self.boards.get(key.batch_id)
        row = board.row(key.case_id, key.label) if board is not None else None
        several = row is not None and len(row.cells) > 1
        name = row.case_name if row is not None else key.case_id
        unique = f"{key.batch_id} {key.case_id} {key.label} {key.ordinal}"
        return Speaker(name, key.label, unique, key.ordinal if several else None)

    def _lines(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        if self._live is None:
            self._err.write("".join(line + "\n" for line in lines))
            return
        for line in lines:
            self._live.line(line)
        self._dirty = True


def mode_for(style: Style, *, json: bool) -> Mode:
    """How a run is shown on a stream of this style."""
    if json:
        return "silent"
    return "live" if style.interactive else "plain"
