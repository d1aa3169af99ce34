"""One batch while it runs: its record, its folder, the sinks that watch it, the trials that ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from sphynx._version import __version__
from sphynx.compiler.compiled import CompiledCase, CompiledVariant
from sphynx.contracts import ResultSink, TrialKey
from sphynx.engine.batch_folder import BatchFolder
from sphynx.engine.options import BatchResult, LocalOptions, PlannedSuite
from sphynx.engine.people import user_model
from sphynx.engine.record import cancelled_record, iso
from sphynx.engine.record_files import BatchLock, read_record
from sphynx.engine.run_setup import run_setup, source_files
from sphynx.engine.secret_names import without_secrets
from sphynx.engine.trial import Machine, TrialJob, run_trial
from sphynx.errors import UsageError
from sphynx.registry import load_harness
from sphynx.results.trigger import from_env
from sphynx.schema.records import BatchRecord, RunPlan, TrialRecord
from sphynx.suite import Variant

BatchStatus = Literal["finished", "failed", "cancelled"]


class BatchRun:
    """Runs the trials of one planned suite, one call of ``run`` each."""

    def __init__(self, planned: PlannedSuite, options: LocalOptions, sinks: Sequence[ResultSink]) -> None:
        self.planned = planned
        self.sinks = sinks
        self.folder = BatchFolder.create(planned.root, planned.batch_id)
        self._lock = BatchLock(self.folder.path)
        if planned.resumed is not None and _changed(planned, self.folder):
            self._lock.release()
            raise UsageError(
                f"batch {planned.batch_id} was run by somebody else meanwhile", hint="resume it once more"
            )
        self.record = _batch_record(planned, options)
        self.jobs = list(_jobs(planned))
        self.machine: Machine | None = None
        self._ended: dict[TrialKey, TrialRecord] = {}
        self._open = len(self.jobs)
        self._closed = False

    def begin(self, machine: Machine) -> None:
        """Write ``batch.json`` and tell everybody."""
        self.machine = machine
        for sink in (self.folder, *self.sinks):
            sink.batch_started(self.record)
        if not self._open:
            self.finish("finished")

    async def run(self, job: TrialJob) -> None:
        """One trial; its record is on disk when this returns."""
        assert self.machine is not None
        for sink in (self.folder, *self.sinks):
            sink.trial_started(job.key)
        self._settle(job, await run_trial(job, self.machine))
        if not self._open:
            self.finish("finished")

    def cancel_rest(self, reason: str, status: BatchStatus = "cancelled") -> None:
        """Settle every trial that has no record as cancelled; nothing to do when the batch is complete."""
        if self._closed:
            return
        for job in self.jobs:
            if job.key not in self._ended:
                self._settle(job, cancelled_record(job, reason, self.record.isolation))
        self.finish(status, reason)

    def finish(self, status: BatchStatus, failure: str | None = None) -> None:
        """Write how the batch ended, once."""
        if self._closed:
            return
        self._closed = True
        self.record = self.record.model_copy(
            update={"status": status, "failure": failure, "finished_at": iso(datetime.now(UTC))}
        )
        try:
            self.folder.batch_ended(self.record)
        except OSError as error:
            for sink in self.sinks:
                sink.note(f"{self.folder.path / 'batch.json'} was not updated: {error.strerror}")
        self._lock.release()
        for sink in self.sinks:
            sink.batch_ended(self.record)

    def result(self) -> BatchResult:
        """The batch with the records of this run and those that stood before, in planned order."""
        earlier = {(r.case_id, r.variant, r.ordinal): r for r in self.planned.earlier}
        records = []
        for key in _keys(self.planned):
            found = self._ended.get(key) or earlier.get((key.case_id, key.label, key.ordinal))
            if found is not None:
                records.append(found)
        return BatchResult(self.record, records, self.folder.path)

    def _settle(self, job: TrialJob, record: TrialRecord) -> None:
        self._ended[job.key] = record
        self._open -= 1
        for sink in (self.folder, *self.sinks):
            sink.trial_ended(job.key, record)


def _changed(planned: PlannedSuite, folder: BatchFolder) -> bool:
    """Whether another run worked on the batch since it was planned: each writes when it begins and ends."""
    return read_record(BatchRecord, folder.path / "batch.json") != planned.resumed


def _keys(planned: PlannedSuite) -> Iterator[TrialKey]:
    """Every trial by case and variant, as they are listed in results."""
    suite = planned.compiled.suite
    for case in planned.cases:
        for variant in planned.variants:
            for ordinal in range(1, planned.trials + 1):
                yield TrialKey(planned.batch_id, suite.id, case.case.id, variant.label, ordinal)


def _jobs(planned: PlannedSuite) -> Iterator[TrialJob]:
    """Trials to run, first those with ordinal 1, so that every run has a result early."""
    done = {(record.case_id, record.variant, record.ordinal) for record in planned.earlier}
    cases = {case.case.id: case for case in planned.cases}
    variants = {variant.label: variant for variant in planned.variants}
    for key in sorted(_keys(planned), key=lambda key: key.ordinal):
        if (key.case_id, key.label, key.ordinal) not in done:
            yield TrialJob(key, planned.compiled, cases[key.case_id], variants[key.label])


def _batch_record(planned: PlannedSuite, options: LocalOptions) -> BatchRecord:
    if planned.resumed is not None:
        update = {"status": "running", "failure": None, "finished_at": None, "jobs": options.jobs}
        return planned.resumed.model_copy(update=update)
    compiled = planned.compiled
    try:
        path = compiled.path.relative_to(planned.root).as_posix()
    except ValueError:
        path = str(compiled.path)
    record = BatchRecord(
        id=planned.batch_id,
        suite_id=compiled.suite.id,
        suite_name=compiled.suite.name,
        file=compiled.file,
        runs=[
            _run(planned, case, variant, options) for case in planned.cases for variant in planned.variants
        ],
        jobs=options.jobs,
        isolation="bubblewrap" if options.isolate else "none",
        sphynx_version=__version__,
        started_at=iso(datetime.now(UTC)),
        trigger=from_env(options.env),
        warnings=list(compiled.warnings),
        x={
            "path": path,
            "suiteIndex": compiled.index,
            "sourceFiles": source_files(compiled),
            **planned.x,
        },
    )
    return without_secrets(record, planned, options.env)


def _run(
    planned: PlannedSuite, case: CompiledCase, variant: CompiledVariant, options: LocalOptions
) -> RunPlan:
    profile = variant.profile
    return RunPlan(
        case_id=case.case.id,
        case_name=case.case.name,
        variant=variant.label,
        harness=variant.variant.harness,
        model=variant.variant.model,
        profile=profile.name if profile else None,
        profile_version=profile.version if profile else None,
        harness_version=harness_version(variant.variant),
        user_model=user_model(case.case, options.env),
        definition_hash=case.definition_hash,
        trials=planned.trials,
        options=dict(variant.variant.options),
        setup=run_setup(planned.compiled, case),
    )


def harness_version(variant: Variant) -> str:
    """The version a variant names, else the one its harness is pinned to."""
    return variant.harness_version or getattr(load_harness(variant.harness), "version", "") or ""
