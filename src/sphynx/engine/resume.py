"""Plan the rest of a batch that was cut off: the trials without a record, under unchanged definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sphynx.compiler import compile_files
from sphynx.compiler.compiled import CompiledSuite, CompiledVariant
from sphynx.engine.agents import choose_versions, versions_of, with_logins
from sphynx.engine.batch_folder import find_batch, read_batch
from sphynx.engine.options import LocalOptions, LocalPlan, PlannedSuite
from sphynx.engine.people import user_model
from sphynx.engine.plan import check_options, local_root, needs_of
from sphynx.engine.record_files import refuse_if_held
from sphynx.errors import UsageError
from sphynx.schema.records import BatchRecord, RunPlan, TrialRecord

T = TypeVar("T")


def plan_resume(batch_id: str, options: LocalOptions) -> LocalPlan:
    """Plan what a batch still lacks. With ``retry_void`` void and timed-out trials run again too.

    Nothing an earlier attempt left is touched: a new attempt gets a folder of its own. Raises ``UsageError``
    when there is no such batch, when a run works on it now, or when a case or profile is not what it was.
    """
    check_options(options)
    folder = find_batch(options.cwd, batch_id)
    refuse_if_held(folder)
    stored = read_batch(folder)
    root = folder.parents[2]
    record = stored.record
    path = root / str(record.x.get("path") or record.file)
    compiled = suite_of(compile_files([path], cwd=options.cwd, staging=local_root(options).staging), record)
    stands = [trial for trial in stored.recorded if _stands(trial, options.retry_void)]
    planned = PlannedSuite(
        compiled=compiled,
        cases=_chosen(compiled.cases, [run.case_id for run in record.runs], lambda case: case.case.id),
        variants=_chosen(compiled.variants, [run.variant for run in record.runs], lambda v: v.label),
        trials=record.runs[0].trials,
        batch_id=record.id,
        root=root,
        earlier=stands,
        resumed=record,
    )
    _check_unchanged(planned, record, options)
    choose_versions([planned], versions_of(record.x))
    isolate = options.isolate or record.isolation != "none"
    options = replace(options, isolate=isolate)
    notes = list(stored.notes)
    options = with_logins([planned], options, notes)
    plan = LocalPlan([planned], options, notes)
    if planned.remaining:
        plan.needs = needs_of([planned], options)
    return plan


def _stands(trial: TrialRecord, retry_void: bool) -> bool:
    return not (retry_void and trial.status in ("void", "timed_out"))


def suite_of(compiled: list[CompiledSuite], record: BatchRecord) -> CompiledSuite:
    """The suite a batch is of. ``UsageError`` when its file no longer has it."""
    for suite in compiled:
        if suite.suite.id == record.suite_id:
            return suite
    raise UsageError(f'{record.file} no longer has the suite "{record.suite_id}"', hint="start a new batch")


def _chosen(found: Sequence[T], wanted: Sequence[str], name: Callable[[T], str]) -> list[T]:
    by_name: dict[str, T] = {}
    for item in found:
        by_name.setdefault(name(item), item)
    return [by_name[key] for key in dict.fromkeys(wanted) if key in by_name]


def _check_unchanged(planned: PlannedSuite, record: BatchRecord, options: LocalOptions) -> None:
    cases = {case.case.id: case.definition_hash for case in planned.cases}
    people = {case.case.id: user_model(case.case, options.env) for case in planned.cases}
    variants = {variant.label: variant for variant in planned.variants}
    for run in record.runs:
        if cases.get(run.case_id) != run.definition_hash:
            what = "has changed" if run.case_id in cases else "is gone"
            raise _changed(f'{record.file}: case "{run.case_id}" {what}', record)
        if people[run.case_id] != run.user_model:
            was = run.user_model or "nobody"
            now = people[run.case_id] or "nobody"
            raise _changed(
                f'{record.file}: case "{run.case_id}": its person went from {was} to {now}', record
            )
        variant = variants.get(run.variant)
        what = "the variant is gone" if variant is None else _difference(variant, run)
        if what:
            raise _changed(f"{record.file}: {run.variant}: {what}", record)


def _difference(variant: CompiledVariant, run: RunPlan) -> str:
    version = variant.profile.version if variant.profile else None
    if version != run.profile_version:
        return "the profile has changed"
    return "its options have changed" if run.options != variant.variant.options else ""


def _changed(what: str, record: BatchRecord) -> UsageError:
    return UsageError(
        f"{what} since batch {record.id} was started, so its trials would not be comparable",
        hint="start a new batch",
    )
