"""A recorded local batch in the shape of the wire's ``EvalBatch``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from sphynx.results.costs import costs_to_wire, is_incomplete, roll_up
from sphynx.results.distribution import SCORED, distribution
from sphynx.results.evidence import RECORD_LIMIT
from sphynx.schema.records import BatchRecord, CostLine, RunPlan, TrialRecord, UsageRecord
from sphynx.schema.wire.trial import ValidationMethod

Entries = Mapping[str, Sequence[Mapping[str, Any]]]
"""Journal entries by trial id."""

_METHODS = frozenset(get_args(ValidationMethod))
_BATCH_STATUS = {"cancelled": "failed"}
_CANCELLED = "The batch was stopped before it was done"


def batch_to_wire(batch: BatchRecord, trials: Sequence[TrialRecord], entries: Entries) -> dict[str, Any]:
    """``EvalBatch`` of a recorded batch: one run per case and variant of its plan, each with its trials.

    A trial that timed out or was cancelled is ``void`` there, with ``timed`` or ``failure`` saying so; a
    cancelled batch is ``failed``. What was measured beside pass and fail stands under ``x-sphynx``.
    """
    runs = [_run(batch, plan, _own(plan, trials), entries) for plan in batch.runs]
    failure = batch.failure or (_CANCELLED if batch.status == "cancelled" else None)
    return {
        "costs": _costs(trials),
        "failure": failure,
        "finishedAt": batch.finished_at,
        "id": batch.id,
        "local": True,
        "runs": runs,
        "startedAt": batch.started_at,
        "status": _BATCH_STATUS.get(batch.status, batch.status),
        "trigger": batch.trigger,
    }


def run_id(batch_id: str, plan: RunPlan) -> str:
    """The id of one case on one variant of a local batch."""
    return f"{batch_id}/{plan.case_id}/{plan.variant}"


def trial_to_wire(record: TrialRecord, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``EvalTrial`` of a recorded trial; ``entries`` are its journal entries."""
    scored = record.status in SCORED
    wire: dict[str, Any] = {
        "artifacts": [
            {"path": item.path, "byteSize": item.byte_size, "sha256": item.sha256}
            for item in record.artifacts
        ],
        "commands": record.commands,
        "costs": costs_to_wire(record.costs, record.costs_incomplete or None),
        "exitCode": record.exit_code,
        "failedCommands": record.failed_commands,
        "failure": None if scored else record.reason,
        "filesChanged": record.files_changed,
        "id": record.id,
        "modelMs": record.model_ms,
        "ordinal": record.ordinal,
        "sandboxId": None,
        "sandboxMs": record.sandbox_ms,
        "status": record.status if scored else "void",
        "timed": record.status == "timed_out",
        "trajectory": [dict(entry) for entry in entries],
        "usage": None if record.usage is None else _usage(record.usage),
        "validations": validations_to_wire(record.validations),
        "verifySteps": [
            {"command": step.command, "exitCode": step.exit_code} for step in record.verify_steps
        ],
        "voidFields": record.void_fields,
    }
    own = _own_fields(record)
    return {**wire, "x-sphynx": own} if own else wire


def validations_to_wire(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The records of a trial's checks as the contract has them, at most 40.

    Calls of methods that only this product's context has, such as ``summary``, stand in ``x-sphynx.calls``.
    """
    return [_known_calls(dict(record)) for record in records[:RECORD_LIMIT]]


def _known_calls(record: dict[str, Any]) -> dict[str, Any]:
    calls = record.get("calls") or []
    own = [call for call in calls if call.get("method") not in _METHODS]
    if own:
        record["calls"] = [call for call in calls if call.get("method") in _METHODS]
        record["x-sphynx"] = {**record.get("x-sphynx", {}), "calls": own}
    return record


def _own_fields(record: TrialRecord) -> dict[str, Any]:
    """What the wire has no place for."""
    own: dict[str, Any] = {"status": record.status, "isolation": record.isolation}
    if record.cause is not None:
        own["cause"] = record.cause
    if record.stage is not None:
        own["stage"] = record.stage
    if record.scores:
        own["scores"] = [score.model_dump(by_alias=True) for score in record.scores]
    return own


def _own(plan: RunPlan, trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    own = [trial for trial in trials if trial.case_id == plan.case_id and trial.variant == plan.variant]
    return sorted(own, key=lambda trial: trial.ordinal)


def _run(batch: BatchRecord, plan: RunPlan, trials: list[TrialRecord], entries: Entries) -> dict[str, Any]:
    settled = sum(trial.status != "cancelled" for trial in trials)
    done = settled >= plan.trials
    return {
        "batchId": batch.id,
        "case": {"id": plan.case_id, "name": plan.case_name},
        "costs": _costs(trials),
        "definitionHash": plan.definition_hash,
        "distribution": distribution(trials).to_wire(),
        "finishedAt": _last_end(trials) if done else batch.finished_at,
        "harnessVersion": _harness_version(plan, trials),
        "id": run_id(batch.id, plan),
        "local": True,
        "profileVersion": plan.profile_version,
        "setup": _setup(batch, plan),
        "startedAt": min((trial.started_at for trial in trials), default=batch.started_at),
        "status": "finished" if done else "running" if batch.status == "running" else "failed",
        "suite": {"id": batch.suite_id, "name": batch.suite_name},
        "trials": [trial_to_wire(trial, entries.get(trial.id, ())) for trial in trials],
        "trigger": batch.trigger,
        "variant": {
            "harness": plan.harness,
            "id": plan.variant,
            "model": plan.model,
            "profile": plan.profile,
            "sandbox": "local",
            "userModel": plan.user_model,
        },
    }


def _setup(batch: BatchRecord, plan: RunPlan) -> dict[str, Any]:
    """What the run used; a plan recorded without it shows an empty one."""
    empty = {"prepare": None, "prompt": "", "source": {"kind": "empty"}, "validator": None, "verify": None}
    files = batch.x.get("sourceFiles")
    return {**empty, **(plan.setup or {}), **({"validatorFiles": files} if files else {})}


def _harness_version(plan: RunPlan, trials: Sequence[TrialRecord]) -> str:
    return next((trial.harness_version for trial in trials if trial.harness_version), plan.harness_version)


def _costs(trials: Sequence[TrialRecord]) -> dict[str, Any] | None:
    lines: list[CostLine] = roll_up(trial.costs for trial in trials)
    missing = any(trial.costs_incomplete or is_incomplete(trial.costs) for trial in trials)
    return costs_to_wire(lines, missing)


def _last_end(trials: Sequence[TrialRecord]) -> str | None:
    ends = [
        datetime.fromisoformat(trial.started_at) + timedelta(milliseconds=trial.duration_ms)
        for trial in trials
    ]
    if not ends:
        return None
    last = max(ends).astimezone(UTC)
    return f"{last:%Y-%m-%dT%H:%M:%S}.{last.microsecond // 1000:03d}Z"


def _usage(usage: UsageRecord) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
    }
    return wire if usage.cost_usd is None else {**wire, "costUsd": usage.cost_usd}
