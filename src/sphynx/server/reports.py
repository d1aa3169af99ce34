"""Trials that another machine ran, as they are reported: from a report to an ``EvalTrial``."""

from __future__ import annotations

from typing import Any

import msgspec

from sphynx.engine.costing import cost_lines
from sphynx.journal.entries import entries
from sphynx.journal.events import Event, Usage
from sphynx.journal.summary import counts
from sphynx.redaction import Redactor
from sphynx.results.costs import costs_to_wire
from sphynx.results.evidence import RECORD_LIMIT, store_validation
from sphynx.results.failure import one_line
from sphynx.schema.wire import BrokenTrialReport, ScoredTrialReport
from sphynx.server.store.batches import blank_trial

Report = ScoredTrialReport | BrokenTrialReport


def trial_of(
    report: Report, trial_id: str, *, harness: str, model: str, redactor: Redactor
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The trial without its trajectory, and the trajectory. Both are redacted before they are cut."""
    events = [redactor.event(_event(event.wire())) for event in report.events]
    tally = counts(events)
    usage = _usage(report)
    trial = {
        **blank_trial(trial_id, report.ordinal, "void"),
        "commands": tally.commands,
        "failedCommands": tally.failed_commands,
        "filesChanged": tally.files_changed,
        "sandboxId": report.sandbox_id,
        "usage": None if usage is None else _usage_to_wire(usage),
    }
    if isinstance(report, BrokenTrialReport):
        trial |= {"failure": one_line(redactor.text(report.failure)), "exitCode": -1}
    else:
        trial |= _outcome(report, redactor)
    ran = report.usage is not None or bool(events)
    trial["costs"] = costs_to_wire(cost_lines(model, usage, harness=harness, ran=ran))
    return trial, entries(events)


def _outcome(report: ScoredTrialReport, redactor: Redactor) -> dict[str, Any]:
    outcome = report.outcome
    validations = [one.wire() for one in outcome.validations or ()][:RECORD_LIMIT]
    return {
        "artifacts": [one.wire() for one in outcome.artifacts],
        "commands": outcome.command_count,
        "exitCode": outcome.exit_code,
        "modelMs": outcome.model_ms,
        "sandboxMs": outcome.sandbox_ms,
        "status": outcome.status,
        "validations": [store_validation(one, redactor, _captured(one)) for one in validations],
        "verifySteps": [
            {"command": redactor.text(one.command), "exitCode": one.exit_code} for one in outcome.verify_steps
        ],
        "voidFields": list(outcome.void_fields),
    }


def _captured(validation: dict[str, Any]) -> bool:
    """Evidence that the other machine left out stays marked as left out."""
    return validation["output"]["state"] != "disabled"


def _event(wire: dict[str, Any]) -> Event:
    whole = {key: round(value) if isinstance(value, float) else value for key, value in wire.items()}
    return msgspec.convert(whole, Event)


def _usage(report: Report) -> Usage | None:
    if report.usage is None:
        return None
    known = report.usage
    return Usage(
        input_tokens=known.input_tokens, output_tokens=known.output_tokens,
        cache_read_tokens=known.cache_read_tokens, cache_write_tokens=known.cache_write_tokens,
        total_tokens=known.total_tokens, cost_usd=known.cost_usd,
    )  # fmt: skip


def _usage_to_wire(usage: Usage) -> dict[str, Any]:
    return {
        "cacheReadTokens": usage.cache_read_tokens, "cacheWriteTokens": usage.cache_write_tokens,
        "costUsd": usage.cost_usd, "inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens,
        "totalTokens": usage.total,
    }  # fmt: skip
