"""A recorded batch in the wire's ``EvalBatch`` shape, as ``--json`` and ``--output`` give it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sphynx.engine import read_batch, read_events
from sphynx.journal.entries import entry
from sphynx.results.wire import batch_to_wire
from sphynx.schema.records import TrialRecord


def wire_batch(folder: Path, records: Sequence[TrialRecord] | None = None) -> dict[str, Any]:
    """The batch in ``folder`` with every trial's trajectory; ``records`` adds trials that left no record."""
    stored = read_batch(folder)
    trials = list(records) if records is not None else stored.recorded
    entries = {
        trial.record.id: [shape for event in read_events(trial.folder) if (shape := entry(event))]
        for trial in stored.trials
        if trial.record is not None
    }
    return batch_to_wire(stored.record, trials, entries)
