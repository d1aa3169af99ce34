"""Trial records as the reports a server takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from sphynx.journal.events import Command, Event, ToolCall
from sphynx.results.wire import validations_to_wire
from sphynx.schema.records import TrialRecord, UsageRecord

KEPT = 8_000
"""Characters of command output that travel: more than a journal shows, so that it still says it was cut."""
_NULLABLE = {"exitCode", "callId", "status"}


def trimmed(event: Event) -> Event:
    """An event with payloads no longer than what travels."""
    if isinstance(event, Command):
        return msgspec.structs.replace(event, output=event.output[:KEPT])
    if isinstance(event, ToolCall):
        texts = {name: getattr(event, name) for name in ("input", "output", "error")}
        cut = {name: text[:KEPT] for name, text in texts.items() if text and len(text) > KEPT}
        return msgspec.structs.replace(event, **cut) if cut else event
    return event


def events_of(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Events in the wire's ``HarnessEvent`` shapes."""
    return [_event(event) for event in events]


def _event(event: Event) -> dict[str, Any]:
    raw: dict[str, Any] = msgspec.to_builtins(event)
    wire = {key: value for key, value in raw.items() if value is not None or key in _NULLABLE}
    if wire["_tag"] == "ToolCall":
        wire.setdefault("input", "")
    usage = wire.get("usage")
    if usage is not None:
        total = usage.get("totalTokens")
        usage = {key: value for key, value in usage.items() if value is not None}
        wire["usage"] = {
            **usage,
            "totalTokens": usage["inputTokens"] + usage["outputTokens"] if total is None else total,
        }
    return wire


def report_of(run_id: str, record: TrialRecord, events: list[dict[str, Any]]) -> dict[str, Any]:
    """A ``ScoredTrialReport`` of a trial its checks decided, else a ``BrokenTrialReport``."""
    report: dict[str, Any] = {"events": events, "ordinal": record.ordinal, "runId": run_id}
    if record.status not in ("passed", "failed"):
        return {**report, "failure": record.reason or record.status.replace("_", " ")}
    outcome = {
        "artifacts": [
            {"path": one.path, "byteSize": one.byte_size, "sha256": one.sha256} for one in record.artifacts
        ],
        "commandCount": record.commands,
        "exitCode": record.exit_code,
        "modelMs": record.model_ms,
        "sandboxMs": record.sandbox_ms,
        "status": record.status,
        "validations": validations_to_wire(record.validations),
        "verifySteps": [{"command": one.command, "exitCode": one.exit_code} for one in record.verify_steps],
        "voidFields": record.void_fields,
    }
    usage = None if record.usage is None else _usage(record.usage)
    return {**report, "outcome": outcome, **({"usage": usage} if usage else {})}


def shortened(report: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """A smaller report and what it lacks: its events, then its evidence too. ``None`` when all is gone."""
    if report["events"]:
        return {**report, "events": []}, "its events"
    outcome = report.get("outcome")
    if outcome is None:
        return None
    bare = {**outcome, "validations": [_bare(one) for one in outcome["validations"]]}
    return None if bare == outcome else ({**report, "outcome": bare}, "its events and evidence")


def as_scored(report: dict[str, Any]) -> dict[str, Any]:
    """The report of a broken trial as a scored one that is void."""
    kept = {key: value for key, value in report.items() if key != "failure"}
    nothing: list[str] = []
    outcome = {
        "artifacts": nothing, "commandCount": 0, "exitCode": -1, "modelMs": 0, "sandboxMs": 0,
        "status": "void", "validations": nothing, "verifySteps": nothing, "voidFields": nothing,
    }  # fmt: skip
    return {**kept, "outcome": outcome}


def _bare(validation: dict[str, Any]) -> dict[str, Any]:
    nothing = {"text": "", "format": "text", "state": "unavailable", "truncated": True}
    kept = {key: value for key, value in validation.items() if key != "metadata"}
    return {
        **kept, "input": nothing, "output": nothing, "error": None, "calls": [], "logs": [],
        "truncated": True,
    }  # fmt: skip


def _usage(usage: UsageRecord) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
    }
    return wire if usage.cost_usd is None else {**wire, "costUsd": usage.cost_usd}
