"""What a local run was asked to do, and what will run: plain values between the CLI and the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
    from sphynx.schema.records import BatchRecord, TrialRecord

MAX_TRIALS_PER_BATCH = 100
MAX_TRIALS_PER_RUN = 10
MAX_JOBS = 256
"""Trials at a time: each takes some processes, sockets and open files."""


def default_jobs() -> int:
    """Trials at a time when nobody says: the cores this process may use, at most 4."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, min(cores, 4))


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """Options of one local run. ``trials=None`` keeps each suite's own number."""

    jobs: int = field(default_factory=default_jobs)
    trials: int | None = None
    cases: tuple[str, ...] = ()
    """Case ids; empty means all."""
    variants: tuple[str, ...] = ()
    """Variant labels or profile names; empty means all."""
    isolate: bool = False
    timeout_s: float | None = None
    """Stops the whole run like Ctrl-C when it passes; ``BatchRecord.failure`` says so."""
    retry_void: bool = False
    """With a resumed batch: void and timed-out trials run again too."""
    cwd: Path = field(default_factory=Path.cwd)
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    harness_versions: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions of agents other than the pinned ones, by harness; they go before what a variant names."""
    use_login: bool = False
    """Agents that can may use the login their own program keeps on this machine, instead of a key."""
    keep_workspace: bool = False
    """Copy each trial's workspace beside its record before it is removed."""


@dataclass(frozen=True, slots=True)
class Need:
    """A variable the run needs: ``found`` says whether it is there, ``why`` who wants it."""

    name: str
    found: bool
    why: str


@dataclass(slots=True)
class PlannedSuite:
    """One batch to be: the chosen cases and variants of one suite."""

    compiled: CompiledSuite
    cases: list[CompiledCase]
    variants: list[CompiledVariant]
    trials: int
    batch_id: str
    root: Path
    """The project whose ``.sphynx`` folder keeps the batch."""
    earlier: list[TrialRecord] = field(default_factory=list)
    """Resumed batches: the records that stand, which are not run again."""
    resumed: BatchRecord | None = None
    x: dict[str, object] = field(default_factory=dict)
    """Extra keys for ``batch.json``."""

    @property
    def total(self) -> int:
        """Every trial of the batch, those that already ran included."""
        return len(self.cases) * len(self.variants) * self.trials

    @property
    def remaining(self) -> int:
        """Trials still to run."""
        return self.total - len(self.earlier)


@dataclass(slots=True)
class LocalPlan:
    """What a run will do. Nothing has been started."""

    suites: list[PlannedSuite]
    options: LocalOptions
    notes: list[str] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Trials over all batches."""
        return sum(suite.total for suite in self.suites)

    @property
    def missing(self) -> list[Need]:
        """Needs that are not met; a run with any of them is refused before anything starts."""
        return [need for need in self.needs if not need.found]


@dataclass(frozen=True, slots=True)
class BatchResult:
    """A batch as it ended. ``trials`` holds one record per planned trial, cancelled ones included."""

    # Left out of the repr: asyncio.run() makes one of what it returns, and hundreds of records take long.
    record: BatchRecord = field(repr=False)
    trials: list[TrialRecord] = field(repr=False)
    folder: Path


@dataclass(frozen=True, slots=True)
class SelfTestRow:
    """What a case's checks say of an untouched workspace and of its reference solution.

    ``reference`` is ``None`` when the case has no ``solution``. A good case fails the first and passes
    the second.
    """

    case_id: str
    suite_id: str
    untouched: TrialRecord
    reference: TrialRecord | None

    @property
    def untouched_ok(self) -> bool:
        """The checks fail a workspace nobody touched."""
        return self.untouched.status == "failed"

    @property
    def reference_ok(self) -> bool:
        """The reference passes, or there is none to judge by."""
        return self.reference is None or self.reference.status == "passed"
