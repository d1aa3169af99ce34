"""One recorded trial graded again: its checks on the workspace that was kept, its judges on its journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread

from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.contracts import Sandbox, SandboxBackend, SandboxSpec
from sphynx.engine import checks, command_check, costing, credentials, kept_workspace, other_agents, workspace
from sphynx.engine.batch_folder import StoredTrial, read_events
from sphynx.engine.checks import Scored
from sphynx.engine.judging import Bench, Judged, Status, ask, verdict
from sphynx.engine.judging_trials import shown_of
from sphynx.engine.options import LocalOptions
from sphynx.engine.secret_names import clean_scores
from sphynx.errors import StageError
from sphynx.journal import turns
from sphynx.journal.events import Usage
from sphynx.journal.overview import Overview
from sphynx.judges.files import JudgeFile, read_files
from sphynx.judges.records import skipped
from sphynx.redaction import Redactor
from sphynx.results.evidence import store_validations
from sphynx.results.failure import failure_text
from sphynx.schema.records import Cause, CostLine, Score, TrialRecord
from sphynx.settings.forwarding import forwarded

NOT_KEPT = "code checks were not run again: the trial's workspace was not kept (--keep-workspace keeps it)"
NO_CALLS = "code checks were not run again: the calls of the suite's mocks were not kept"
NO_APIS = "the HTTP mocks do not run again: ctx.api.url() is an error, ctx.api.calls() is what was recorded"
NO_PREPARED = "ctx.prepared is empty: what prepare returns is stored nowhere"


@dataclass(frozen=True, slots=True)
class RegradeJob:
    """What to grade again, and with what."""

    stored: StoredTrial
    record: TrialRecord
    suite: CompiledSuite
    case: CompiledCase
    variant: CompiledVariant | None
    backend: SandboxBackend
    options: LocalOptions
    isolate: bool
    judges_only: bool

    @property
    def snapshot(self) -> Path | None:
        """The workspace as the trial left it, when it was kept."""
        path = self.stored.folder / kept_workspace.NAME
        return path if path.is_dir() else None


@dataclass(slots=True)
class Regrade:
    """The new verdict."""

    status: Literal["passed", "failed", "void"]
    cause: Cause | None = None
    reason: str | None = None
    void_fields: list[str] = field(default_factory=list[str])
    validations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    scores: list[Score] = field(default_factory=list[Score])
    costs: list[CostLine] = field(default_factory=list[CostLine])
    notes: list[str] = field(default_factory=list[str])


async def regrade_trial(job: RegradeJob) -> Regrade:
    """Grade one trial. What cannot be done again is said in ``notes``, and its old verdict stands."""
    redactor = _redactor(job)
    notes: list[str] = []
    box = await _box(job) if job.snapshot is not None else None
    try:
        code = await _code(job, box, redactor, notes)
        judged = await _judges(job, code, box, redactor)
    finally:
        if box is not None:
            await box.close()
    return _verdict(job, code, judged, redactor, notes)


async def _box(job: RegradeJob) -> Sandbox:
    key = job.record
    spec = SandboxSpec(
        trial_id=f"{key.batch_id}-{key.case_id}-{key.ordinal}-regrade",
        bundle=job.suite.bundle,
        env=_sandbox_env(job),
        isolate=job.isolate,
    )
    box = await job.backend.open(spec)
    root = workspace.host_path(box)
    if root is None:
        await box.close()
        raise StageError("this sandbox is not on this machine", stage="regrade", cause="sandbox")
    await anyio.to_thread.run_sync(kept_workspace.copy, str(job.snapshot), root)
    return box


async def _code(job: RegradeJob, box: Sandbox | None, redactor: Redactor, notes: list[str]) -> Scored:
    """The code checks, run again where that is possible, else as they were recorded."""
    case = job.case.case
    if job.judges_only or not (case.checks or case.command):
        return _recorded(job)
    suite = job.suite.suite
    calls = kept_workspace.calls_in(job.stored.folder) if suite.mocks else {}
    if box is None or calls is None:
        notes.append(NOT_KEPT if box is None else NO_CALLS)
        return _recorded(job)
    env = _check_env(job)
    if case.command is not None:
        return await command_check.run_command(box, case.command, env=env)
    if case.prepare is not None:
        notes.append(NO_PREPARED)
    if suite.api:
        notes.append(NO_APIS)
    return await checks.run_checks(
        box, case.checks, suite=job.suite.index, case=case.id, payload=_payload(job, calls), env=env
    )


def _recorded(job: RegradeJob) -> Scored:
    """What the code checks said when the trial ran."""
    records = [dict(record) for record in job.record.validations if record["kind"] != "judge"]
    scored = checks.decide(records)
    judges = {record["name"] for record in job.record.validations if record["kind"] == "judge"}
    scored.scores = [score for score in job.record.scores if score.check not in judges]
    return scored


async def _judges(job: RegradeJob, code: Scored, box: Sandbox | None, redactor: Redactor) -> list[Judged]:
    judges = job.case.case.judges
    if code.status == "void":
        return [Judged(skipped(judge)) for judge in judges]
    paths = [path for judge in judges for path in judge.files]
    if box is None:
        files = {path: JudgeFile(path, "not kept") for path in paths}
    else:
        found = await read_files(box, paths)
        files = {path: replace(file, text=redactor.text(file.text)) for path, file in found.items()}
    shown = shown_of(redactor.text(job.case.prompt), read_events(job.stored.folder))
    bench = Bench(job.backend, f"{job.record.batch_id}-regrade", job.options.env, job.isolate)
    ordered = sorted(judges, key=lambda judge: not judge.workspace)
    judged = {judge.index: await ask(judge, shown, files, bench, box) for judge in ordered}
    return [judged[judge.index] for judge in judges]


def _verdict(
    job: RegradeJob, code: Scored, judged: list[Judged], redactor: Redactor, notes: list[str]
) -> Regrade:
    records = [one.record for one in judged]
    status: Status = code.status
    lost: list[str] = list(code.void_fields)
    reason, cause = code.reason, "check" if code.status == "void" else None
    if code.status != "void":
        status, _, lost = verdict(code.status, records)
        if status == "void":
            cause, reason = "judge", next(one["message"] for one in records if one["status"] == "error")
        elif status == "failed":
            cause = "agent"
    spends = [spend for one in judged for spend in one.spends]
    return Regrade(
        status=status,
        cause=cause,
        reason=None if reason is None else failure_text(redactor.text(reason)),
        void_fields=lost,
        validations=store_validations(
            [*code.records, *records], redactor, job.suite.suite.capture_validation
        ),
        scores=clean_scores(
            [*code.scores, *(one.score for one in judged if one.score is not None)], redactor
        ),
        costs=costing.other_lines([], spends),
        notes=notes,
    )


def _payload(job: RegradeJob, calls: Mapping[str, Any]) -> dict[str, Any]:
    events = list(read_events(job.stored.folder))
    overview = Overview()
    for event in events:
        overview.add(event)
    return {
        "answer": turns.answer(events),
        "transcript": turns.transcript(events),
        "turns": turns.build(events, job.case.prompt),
        "summary": overview.summary(_usage(job.record), job.record.thinking),
        "prepared": {},
        "api": {},
        "calls": calls,
        "capture": job.suite.suite.capture_validation,
    }


def _usage(record: TrialRecord) -> Usage | None:
    return None if record.usage is None else Usage(**record.usage.model_dump(by_alias=False))


def _sandbox_env(job: RegradeJob) -> dict[str, str]:
    profile = job.variant.profile if job.variant else None
    return {**forwarded(job.options.cwd, job.options.env), **((profile.env if profile else None) or {})}


def _check_env(job: RegradeJob) -> Mapping[str, str]:
    return credentials.named_variables(job.variant, job.options.env) if job.variant else {}


def _redactor(job: RegradeJob) -> Redactor:
    env = job.options.env
    addresses = forwarded(job.options.cwd, env)
    known = list(other_agents.secrets(job.case.case, env))
    if job.variant is not None:
        known += credentials.secrets(job.variant, env, addresses)
    return Redactor(known)
