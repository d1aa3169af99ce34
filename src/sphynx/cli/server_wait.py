"""Waits for a batch of a server: a live grid in a terminal, a line per change without one."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import replace

from sphynx.cli.out import Out
from sphynx.cli.render import grid
from sphynx.cli.render.board import Board
from sphynx.cli.render.live import Live
from sphynx.cli.server_board import board_of
from sphynx.cli.server_view import progress
from sphynx.client import Sphynx
from sphynx.client.protocol import WaitTimeout
from sphynx.errors import SphynxError
from sphynx.schema.wire import EvalBatch

TIMEOUT_S = 1_200.0
_POLL_MS = 1_000
_MOST_POLL_MS = 15_000
_TICK_S = 0.1
_SOON_S = 2.0


def wait_for(
    sphynx: Sphynx, batch_id: str, err: Out, *, timeout_s: float | None, silent: bool, where: str = ""
) -> EvalBatch:
    """Follow a batch until it stops. Neither the time limit nor Ctrl-C cancels it.

    ``SphynxError`` when the time is up or the server cannot be asked; ``KeyboardInterrupt`` passes.
    """
    waiter = _Waiter(sphynx, batch_id, timeout_s or TIMEOUT_S)
    live = not silent and err.style.interactive
    show = _Grid(err, where) if live else _Lines(err, silent)
    waiter.start()
    try:
        while not waiter.ended:
            for batch in waiter.news(_TICK_S if live else 1.0):
                show.update(batch)
            show.tick()
        return waiter.result()
    except WaitTimeout as error:
        raise SphynxError(
            error.message, hint=f"it was not cancelled: sphynx batches get {batch_id}"
        ) from None
    finally:
        waiter.leave()
        show.close()


class _Waiter(threading.Thread):
    """Asks in a thread of its own, so that the grid's clock goes on and Ctrl-C is answered at once."""

    def __init__(self, sphynx: Sphynx, batch_id: str, timeout_s: float) -> None:
        super().__init__(daemon=True)
        self._sphynx = sphynx
        self._id = batch_id
        self._timeout_s = timeout_s
        self._news: queue.SimpleQueue[EvalBatch | None] = queue.SimpleQueue()
        self._leave = threading.Event()
        self._found: EvalBatch | None = None
        self._error: Exception | None = None
        self.ended = False

    def run(self) -> None:
        try:
            self._found = self._sphynx.evals.batches.wait(
                self._id, on_progress=self._news.put, signal=self._leave, timeout_ms=self._timeout_s * 1000,
                poll_interval_ms=_POLL_MS, max_interval_ms=_MOST_POLL_MS,
            )  # fmt: skip
        except Exception as error:  # told by result(), in the thread that asked
            self._error = error
        self._news.put(None)

    def news(self, seconds: float) -> list[EvalBatch]:
        """What has changed, waiting at most so long for it."""
        try:
            batch = self._news.get(timeout=seconds)
        except queue.Empty:
            return []
        if batch is None:
            self.ended = True
            return []
        return [batch]

    def result(self) -> EvalBatch:
        """The batch that stopped; raises what kept it from being read."""
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return self._found

    def leave(self) -> None:
        """Ask no more."""
        self._leave.set()
        self.join(_SOON_S)


class _Lines:
    """Without a terminal: a line each time something changed."""

    def __init__(self, err: Out, silent: bool) -> None:
        self._err = err
        self._silent = silent

    def update(self, batch: EvalBatch) -> None:
        if not self._silent and batch.status == "running":
            self._err.line(f"  {progress(batch)}")

    def tick(self) -> None:
        return

    def close(self) -> None:
        return


class _Grid:
    """In a terminal: the grid of a local run, redrawn while its spinner turns."""

    def __init__(self, err: Out, where: str) -> None:
        self._err = err
        self._where = where
        self._live = Live(err.write, self._footer)
        self._board: Board | None = None
        self._began: dict[str, float] = {}
        self._started = time.monotonic()
        self._drawn = 0.0

    def update(self, batch: EvalBatch) -> None:
        now = time.monotonic()
        wire = batch.wire()
        first = self._board is None
        self._board = board_of(wire, self._where, began=self._began, now=now)
        for run in batch.runs:
            for trial in run.trials:
                if trial.status == "running":
                    self._began.setdefault(trial.id, now)
        if first:
            for line in grid.head_lines(self._board, self._err.style):
                self._live.line(line)
        self._drawn = 0.0

    def tick(self) -> None:
        now = time.monotonic()
        if self._board is not None and now - self._drawn >= 1 / grid.TURNS_A_SECOND:
            self._drawn = now
            self._live.draw()

    def close(self) -> None:
        self._live.close()

    def _footer(self, columns: int, lines: int) -> list[str]:
        if self._board is None:
            return []
        style = replace(self._err.style, width=columns)
        now = time.monotonic()
        running = sum(cell.status == "running" for cell in self._board.cells)
        status = grid.status_line([self._board], max(1, running), now, self._started, style)
        return [*grid.live_lines([self._board], style, now, height=lines - 1), status]
