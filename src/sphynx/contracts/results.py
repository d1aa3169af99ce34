"""Where results go while they arise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sphynx.journal.events import Event
from sphynx.schema.records import BatchRecord, TrialRecord


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Which trial: ``label`` is the variant's label, ``ordinal`` counts from 1."""

    batch_id: str
    suite_id: str
    case_id: str
    label: str
    ordinal: int


class ResultSink(Protocol):
    """Where results go while they arise: the batch folder, the terminal, a server. Never raises."""

    def batch_started(self, batch: BatchRecord) -> None: ...
    def trial_started(self, key: TrialKey) -> None: ...
    def event(self, key: TrialKey, event: Event) -> None: ...
    def output(self, key: TrialKey, stage: str, text: str) -> None: ...
    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None: ...
    def batch_ended(self, batch: BatchRecord) -> None: ...
    def note(self, text: str) -> None: ...
