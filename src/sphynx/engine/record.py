"""The record of a trial: everything found out, redacted, cut to its limits, priced."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sphynx.engine import artifacts, command_check, costing, judging_trials
from sphynx.engine.checks import skipped
from sphynx.engine.secret_names import clean_scores, clean_steps
from sphynx.results.costs import is_incomplete
from sphynx.results.evidence import store_validations
from sphynx.results.failure import failure_text
from sphynx.results.warnings import usage_warnings
from sphynx.schema.records import Cause, TrialRecord, TrialStatus, UsageRecord

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial, TrialJob

MAX_DIFF = 200_000
"""Characters of a stored diff."""
MAX_PATHS = 1_000


def build(trial: Trial, *, duration_ms: float) -> TrialRecord:
    """The record of a trial that ended. Nothing in it is a secret the trial knows."""
    job, journal, talk = trial.job, trial.journal, trial.talk
    redact = trial.redactor.text
    assert trial.status is not None
    diff, truncated = cut_diff(artifacts.shown_diff(trial))
    usage = talk.usage if talk else None
    costs = costing.cost_lines(
        job.variant.variant.model,
        usage,
        harness=job.variant.variant.harness,
        ran=journal.turn_count > 0 and getattr(trial.harness, "uses_model", True),
        observed=talk.observed_model if talk else None,
        sandbox=trial.box.backend if trial.box is not None else "local",
    )
    costs += costing.other_lines(trial.asked, trial.hearing.spends if trial.hearing else [])
    turns = journal.turn_count
    kept = artifacts.keep(trial, diff)
    artifacts.keep_unread(trial)
    notes = [*trial.notes, *trial.changes.notes, *([talk.note] if talk and talk.note else [])]
    if journal.dropped:
        notes.append(f"{journal.dropped} events are in the journal but were not handed to the checks")
    return TrialRecord(
        **_names(job),
        status=trial.status,
        cause=trial.cause,
        stage=trial.stage,
        reason=None if trial.reason is None else failure_text(redact(trial.reason)),
        void_fields=trial.void_fields,
        isolation=trial.isolation,
        harness_version=_harness_version(trial),
        observed_model=_known(trial, talk.observed_model if talk else None),
        session_id=_known(trial, journal.session_id),
        started_at=iso(trial.started_at),
        duration_ms=round(duration_ms),
        model_ms=round(trial.model_ms),
        sandbox_ms=max(0, round(duration_ms - trial.model_ms)),
        turns=turns,
        ending=talk.ending if talk else None,
        thinking=talk.thinking if talk else 0,
        commands=journal.commands,
        failed_commands=journal.failed_commands,
        files_changed=[redact(path) for path in changed_paths(trial)],
        usage=_usage(usage),
        warnings=usage_warnings(usage, turns) if usage else [],
        costs=costs,
        costs_incomplete=is_incomplete(costs),
        exit_code=_exit_code(trial),
        validations=_validations(trial),
        verify_steps=clean_steps(trial.scored.verify_steps if trial.scored else [], trial.redactor),
        scores=clean_scores(trial.scored.scores if trial.scored else [], trial.redactor),
        diff=diff or None,
        diff_truncated=truncated,
        artifacts=kept,
        notes=[redact(note) for note in notes],
    )


def cancelled_record(job: TrialJob, reason: str, isolation: str) -> TrialRecord:
    """The record of a trial that was stopped or never started. It is shown, not stored."""
    return _bare(job, "cancelled", "cancelled", reason, isolation, datetime.now(UTC), 0)


def broken_record(trial: Trial, reason: str, *, duration_ms: float) -> TrialRecord:
    """The record of a trial whose result could not be recorded, such as evidence of a shape nobody knows."""
    clean = failure_text(trial.redactor.text(reason))
    return _bare(trial.job, "void", "internal", clean, trial.isolation, trial.started_at, round(duration_ms))


def _bare(
    job: TrialJob,
    status: TrialStatus,
    cause: Cause,
    reason: str,
    isolation: str,
    started: datetime,
    duration_ms: int,
) -> TrialRecord:
    return TrialRecord(
        **_names(job),
        status=status,
        cause=cause,
        reason=reason,
        isolation=isolation,
        harness_version=job.variant.variant.harness_version or "",
        started_at=iso(started),
        duration_ms=duration_ms,
        exit_code=-1,
    )


def iso(moment: datetime) -> str:
    """``2030-01-01T00:00:00.000Z``."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def cut_diff(text: str) -> tuple[str, bool]:
    """At most ``MAX_DIFF`` characters, whole lines, and whether something was cut."""
    if len(text) <= MAX_DIFF:
        return text, False
    return text[: text.rfind("\n", 0, MAX_DIFF) + 1] or text[:MAX_DIFF], True


def changed_paths(trial: Trial) -> list[str]:
    """Paths the agent reported, then those found by comparison, relative to the workspace, each once."""
    prefix = f"{trial.box.workspace}/" if trial.box else ""
    reported = (path.removeprefix(prefix) if prefix else path for path in trial.journal.paths())
    return list(dict.fromkeys([*reported, *trial.changes.paths]))[:MAX_PATHS]


def _known(trial: Trial, name: str | None) -> str | None:
    return name and trial.redactor.known(name)


def _names(job: TrialJob) -> dict[str, Any]:
    key, variant = job.key, job.variant
    return {
        "id": f"{key.batch_id}/{key.case_id}/{key.label}/{key.ordinal}",
        "batch_id": key.batch_id,
        "suite_id": key.suite_id,
        "case_id": key.case_id,
        "variant": key.label,
        "ordinal": key.ordinal,
        "harness": variant.variant.harness,
        "model": variant.variant.model,
        "profile_version": variant.profile.version if variant.profile else None,
    }


def _harness_version(trial: Trial) -> str:
    return trial.job.variant.variant.harness_version or (trial.harness.version if trial.harness else "")


def _usage(usage: Any) -> UsageRecord | None:
    if usage is None:
        return None
    return UsageRecord(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        total_tokens=usage.total,
        cost_usd=usage.cost_usd,
    )


def _exit_code(trial: Trial) -> int:
    return trial.scored.exit_code if trial.scored else -1


def _validations(trial: Trial) -> list[dict[str, Any]]:
    case = trial.job.case.case
    if trial.scored is not None:
        records = trial.scored.records
    elif case.command is not None:
        records = [command_check.untried(case.command)]
    else:
        records = skipped(case.checks)
    records = [*records, *judging_trials.records_of(trial)]
    capture = trial.job.suite.suite.capture_validation
    return store_validations(records, trial.redactor, capture)
