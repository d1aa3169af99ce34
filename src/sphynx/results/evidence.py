"""What is kept of a check's evidence: redacted first, then cut to the budgets of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sphynx.redaction import Redactor, cut, utf16_length

VALUE_LIMIT = 16_000
CHECK_LIMIT = 64_000
ENTRY_LIMIT = 64
"""Calls, and log entries, of one check."""
MESSAGE_LIMIT = 2_000
RECORD_LIMIT = 40
"""Records of one trial."""
NAME_LIMIT = 200

Value = dict[str, Any]


def store_validation(record: Mapping[str, Any], redactor: Redactor, capture: bool = True) -> dict[str, Any]:
    """An ``EvalValidation`` ready to be stored.

    Every text is redacted before it is cut. Values keep at most 16,000 UTF-16 units, together 64,000, spent
    in this order: input, each call's input, output and error, logs, output, error, metadata. With ``capture``
    off values are ``disabled`` and empty; verdict, timing and message stay. What ``prepare`` returned is
    never stored, so the input of a code check is ``unavailable``. Keys that the wire does not have are left
    out.
    """
    keeper = _Keeper(redactor, capture)
    kind = str(record.get("kind") or "code")
    calls, logs = list(record.get("calls") or ()), list(record.get("logs") or ())
    given = record.get("input")
    stored: dict[str, Any] = {
        "id": cut(redactor.text(str(record["id"])), NAME_LIMIT)[0],
        "index": record["index"],
        "name": cut(redactor.text(str(record["name"])), NAME_LIMIT)[0],
        "kind": kind,
        "status": record["status"],
        "startedAt": record.get("startedAt"),
        "durationMs": record.get("durationMs"),
        "message": cut(redactor.text(str(record.get("message") or "")), MESSAGE_LIMIT)[0],
        "exitCode": record.get("exitCode"),
        "truncated": False,
        # The order of the following lines is the order in which the budget is spent.
        "input": keeper.value(_nothing() if kind == "code" else given),
        "calls": [keeper.call(call) for call in calls[:ENTRY_LIMIT]],
        "logs": [keeper.log(entry) for entry in logs[:ENTRY_LIMIT]],
        "output": keeper.value(record.get("output")),
        "error": keeper.optional(record.get("error")),
    }
    if record.get("metadata") is not None:
        stored["metadata"] = keeper.value(record["metadata"])
    if record.get("judgment") is not None:
        stored["judgment"] = _judgment(record["judgment"], redactor)
    dropped = len(calls) > ENTRY_LIMIT or len(logs) > ENTRY_LIMIT
    stored["truncated"] = bool(record.get("truncated")) or dropped or keeper.truncated
    return stored


def store_validations(
    records: Iterable[Mapping[str, Any]], redactor: Redactor, capture: bool = True
) -> list[dict[str, Any]]:
    """The first 40 records of a trial, each stored."""
    return [store_validation(record, redactor, capture) for record in list(records)[:RECORD_LIMIT]]


def without_evidence(record: Mapping[str, Any]) -> dict[str, Any]:
    """A stored record with every value it holds given up; verdict, timing and message stay."""
    bare = dict(record)
    for name in ("input", "output", "error", "metadata"):
        if bare.get(name) is not None:
            bare[name] = _given_up(bare[name])
    bare["calls"] = [
        {**call, **{name: _given_up(call[name]) for name in ("input", "output", "error") if call[name]}}
        for call in record["calls"]
    ]
    bare["logs"] = [{**entry, "value": _given_up(entry["value"])} for entry in record["logs"]]
    bare["truncated"] = True
    return bare


class _Keeper:
    """Spends one check's budget."""

    def __init__(self, redactor: Redactor, capture: bool) -> None:
        self._redactor = redactor
        self._capture = capture
        self._rest = CHECK_LIMIT
        self.truncated = False

    def value(self, value: Mapping[str, Any] | None) -> Value:
        if not self._capture:
            return {"text": "", "format": "text", "state": "disabled", "truncated": False}
        if value is None or value.get("state") != "captured":
            return _nothing(str(value.get("state")) if value else "unavailable")
        text = self._redactor.text(str(value.get("text") or ""))
        kept, shortened = cut(text, min(VALUE_LIMIT, self._rest))
        self._rest -= utf16_length(kept)
        truncated = shortened or bool(value.get("truncated"))
        self.truncated = self.truncated or truncated
        return {
            "text": kept,
            "format": value.get("format") or "text",
            "state": "captured",
            "truncated": truncated,
        }

    def optional(self, value: Mapping[str, Any] | None) -> Value | None:
        return None if value is None else self.value(value)

    def call(self, call: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "index": call["index"],
            "method": call["method"],
            "startedAt": call["startedAt"],
            "durationMs": call.get("durationMs"),
            "input": self.value(call.get("input")),
            "output": self.value(call.get("output")),
            "error": self.optional(call.get("error")),
        }

    def log(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "index": entry["index"],
            "at": entry["at"],
            "level": entry["level"],
            "value": self.value(entry.get("value")),
        }


def _nothing(state: str = "unavailable") -> Value:
    return {"text": "", "format": "text", "state": state, "truncated": False}


def _given_up(value: Mapping[str, Any]) -> Value:
    return {**value, "text": "", "state": "unavailable", "truncated": True} if value["text"] else dict(value)


def _judgment(judgment: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    error = judgment.get("error")
    decided = judgment.get("criteria")
    return {
        **judgment,
        **({} if decided is None else {"criteria": [_decided(one, redactor) for one in decided]}),
        "reason": cut(redactor.text(str(judgment.get("reason") or "")), MESSAGE_LIMIT)[0],
        "error": None if error is None else cut(redactor.text(str(error)), MESSAGE_LIMIT)[0],
    }


def _decided(one: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """One criterion a judge decided."""
    texts = {key: cut(redactor.text(str(one[key])), MESSAGE_LIMIT)[0] for key in ("text", "evidence")}
    return {**one, **texts}
