"""What is known of a batch while it runs: one cell per trial. The grid and the summary read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sphynx.contracts import TrialKey
from sphynx.schema.records import BatchRecord, TrialRecord


@dataclass(slots=True)
class Cell:
    """One trial. ``status`` is ``waiting``, ``running`` or how it ended; ``since`` is a monotonic time."""

    ordinal: int
    status: str = "waiting"
    since: float = 0.0
    record: TrialRecord | None = None


@dataclass(slots=True)
class Row:
    """One case on one variant."""

    case_id: str
    case_name: str
    label: str
    cells: list[Cell]

    @property
    def records(self) -> list[TrialRecord]:
        """The trials that ended, in order."""
        return [cell.record for cell in self.cells if cell.record is not None]

    @property
    def status(self) -> str:
        """The row's own mark: running first, then the worst of its trials."""
        statuses = {cell.status for cell in self.cells}
        if "running" in statuses or ("waiting" in statuses and statuses - {"waiting"}):
            return "running"
        order = ("waiting", "failed", "void", "timed_out", "cancelled")
        return next((status for status in order if status in statuses), "passed")


@dataclass(slots=True)
class Board:
    """A batch's rows, case by case in the order of the file."""

    batch: BatchRecord
    rows: list[Row] = field(default_factory=list)
    _index: dict[tuple[str, str], Row] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: BatchRecord, records: Iterable[TrialRecord] = ()) -> Board:
        """The board of a batch, with the trials that have ended."""
        rows = [
            Row(run.case_id, run.case_name, run.variant, [Cell(n + 1) for n in range(run.trials)])
            for run in batch.runs
        ]
        board = cls(batch, rows, {(row.case_id, row.label): row for row in rows})
        for record in records:
            board.ended(record)
        return board

    @property
    def cells(self) -> list[Cell]:
        """Every trial."""
        return [cell for row in self.rows for cell in row.cells]

    @property
    def records(self) -> list[TrialRecord]:
        """The trials that ended, row by row."""
        return [record for row in self.rows for record in row.records]

    def cell(self, case_id: str, label: str, ordinal: int) -> Cell | None:
        """The cell of a trial; ``None`` when it was not planned."""
        row = self.row(case_id, label)
        return row.cells[ordinal - 1] if row is not None and 0 < ordinal <= len(row.cells) else None

    def row(self, case_id: str, label: str) -> Row | None:
        """The row of a case on a variant."""
        return self._index.get((case_id, label))

    def started(self, key: TrialKey, now: float) -> None:
        """A trial began."""
        cell = self.cell(key.case_id, key.label, key.ordinal)
        if cell is not None:
            cell.status, cell.since = "running", now

    def ended(self, record: TrialRecord) -> None:
        """A trial ended."""
        cell = self.cell(record.case_id, record.variant, record.ordinal)
        if cell is not None:
            cell.status, cell.record = record.status, record

    def abandon(self) -> None:
        """Nothing runs any more: trials without an end were cancelled."""
        for cell in self.cells:
            if cell.status in ("running", "waiting"):
                cell.status = "cancelled"
