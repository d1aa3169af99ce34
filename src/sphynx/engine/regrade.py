"""Apply changed checks and judges to recorded trials, beside their verdicts, without running an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from sphynx.compiler import compile_files
from sphynx.compiler.compiled import CompiledCase, CompiledSuite
from sphynx.contracts import SandboxBackend
from sphynx.engine.batch_folder import StoredTrial, find_batch, read_batch, write_atomically
from sphynx.engine.options import LocalOptions
from sphynx.engine.plan import local_root
from sphynx.engine.record import iso
from sphynx.engine.regrade_trial import Regrade, RegradeJob, regrade_trial
from sphynx.engine.resume import suite_of
from sphynx.errors import SphynxError, UsageError
from sphynx.registry import load_sandbox
from sphynx.results.failure import failure_text
from sphynx.schema.records import BatchRecord, TrialRecord

FORMAT = 1
FINISHED = ("passed", "failed")


@dataclass(frozen=True, slots=True)
class RegradedTrial:
    """One trial's old verdict and its new one. ``new`` is ``None`` for a trial that was left out."""

    old: TrialRecord
    new: Regrade | None
    file: Path | None
    """Where the new verdict was written."""
    left_out: str = ""
    """Why it was not graded again."""

    @property
    def changed(self) -> bool:
        """The new verdict is another one."""
        return self.new is not None and self.new.status != self.old.status


@dataclass(frozen=True, slots=True)
class RegradePlan:
    """What is to be graded again. Nothing has been started."""

    batch: BatchRecord
    suite: CompiledSuite
    cases: Mapping[str, CompiledCase]
    trials: Sequence[StoredTrial]
    options: LocalOptions
    judges_only: bool
    notes: Sequence[str] = ()
    """Records of the batch that cannot be read."""


def plan_regrade(batch_id: str, options: LocalOptions, *, judges_only: bool = False) -> RegradePlan:
    """Read a batch and compile its eval file as it is now. ``options.cases`` chooses cases.

    ``UsageError`` when there is no such batch, no such case, or nothing recorded.
    """
    folder = find_batch(options.cwd, batch_id)
    stored = read_batch(folder)
    path = folder.parents[2] / str(stored.record.x.get("path") or stored.record.file)
    compiled = compile_files([path], cwd=options.cwd, staging=local_root(options).staging)
    suite = suite_of(compiled, stored.record)
    cases = {case.case.id: case for case in suite.cases}
    there = list(dict.fromkeys(run.case_id for run in stored.record.runs))
    unknown = [case for case in options.cases if case not in there]
    if unknown:
        raise UsageError(
            f'batch {stored.record.id} has no case "{unknown[0]}"', hint=f"there are: {', '.join(there)}"
        )
    trials = [
        trial
        for trial in stored.trials
        if trial.record is not None and (not options.cases or trial.record.case_id in options.cases)
    ]
    if not trials:
        raise UsageError(f"batch {stored.record.id} has no recorded trial to grade again")
    return RegradePlan(stored.record, suite, cases, trials, options, judges_only, tuple(stored.notes))


async def run_regrade(
    plan: RegradePlan, told: Callable[[RegradedTrial], None] = lambda trial: None
) -> list[RegradedTrial]:
    """Grade every trial of the plan again, in order, ``options.jobs`` at a time; ``told`` hears of each.

    A new verdict is written as ``regrade-<n>.json`` beside ``trial.json``, which is never touched.
    """
    backend = load_sandbox("local")(local_root(plan.options), env=plan.options.env)
    done: list[RegradedTrial | None] = [None] * len(plan.trials)
    limit = anyio.CapacityLimiter(plan.options.jobs)

    async def one(place: int) -> None:
        async with limit:
            done[place] = found = await _one(plan, plan.trials[place], backend)
            told(found)

    try:
        if plan.suite.bundle is not None and not plan.judges_only:
            await backend.start(plan.suite.bundle)
        async with anyio.create_task_group() as group:
            for place in range(len(plan.trials)):
                group.start_soon(one, place)
    finally:
        with anyio.CancelScope(shield=True):
            await backend.aclose()
    return [trial for trial in done if trial is not None]


async def _one(plan: RegradePlan, stored: StoredTrial, backend: SandboxBackend) -> RegradedTrial:
    record = stored.record
    assert record is not None
    case = plan.cases.get(record.case_id)
    if case is None:
        return RegradedTrial(record, None, None, "its case is no longer in the suite")
    if record.status not in FINISHED and record.cause not in ("check", "judge"):
        return RegradedTrial(
            record, None, None, f"its agent did not finish: {record.reason or record.status}"
        )
    job = RegradeJob(
        stored=stored,
        record=record,
        suite=plan.suite,
        case=case,
        variant=next((v for v in plan.suite.variants if v.label == record.variant), None),
        backend=backend,
        options=plan.options,
        isolate=plan.options.isolate or record.isolation != "none",
        judges_only=plan.judges_only,
    )
    try:
        new = await regrade_trial(job)
    except (SphynxError, OSError) as error:
        return RegradedTrial(record, None, None, f"it could not be graded: {failure_text(error)}")
    return RegradedTrial(record, new, _write(plan, stored.folder, case, record, new))


def _write(plan: RegradePlan, folder: Path, case: CompiledCase, record: TrialRecord, new: Regrade) -> Path:
    run = next(run for run in plan.batch.runs if run.case_id == record.case_id)
    value: dict[str, Any] = {
        "format": FORMAT,
        "trial": record.id,
        "regradedAt": iso(datetime.now(UTC)),
        "judgesOnly": plan.judges_only,
        "definitionHash": {"recorded": run.definition_hash, "now": case.definition_hash},
        "previousStatus": record.status,
        "status": new.status,
        "cause": new.cause,
        "reason": new.reason,
        "voidFields": new.void_fields,
        "validations": new.validations,
        "scores": [score.model_dump(by_alias=True) for score in new.scores],
        "costs": [line.model_dump(by_alias=True) for line in new.costs],
        "notes": new.notes,
    }
    number = 1
    while (path := folder / f"regrade-{number}.json").exists():
        number += 1
    write_atomically(path, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    return path
