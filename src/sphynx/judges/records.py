"""A judgment as it is stored: an ``EvalValidation`` of kind ``judge``, not yet redacted or cut."""

from __future__ import annotations

import json
from typing import Any

from sphynx.journal.events import Usage
from sphynx.judges.voting import Judgment, Vote
from sphynx.suite.judges import JudgeSpec

MESSAGE_LIMIT = 2_000


def record(
    judge: JudgeSpec, judgment: Judgment, *, request: str, started_at: float, duration_ms: float
) -> dict[str, Any]:
    """The record: ``input`` is the request, ``output`` the raw answers, ``metadata`` the rest.

    ``started_at`` is epoch milliseconds.
    """
    vote = judgment.decisive
    passed = vote.score is not None and vote.score >= judge.threshold
    status = "error" if vote.score is None else "passed" if passed else "failed"
    out = _blank(judge, status)
    out.update(
        startedAt=started_at,
        durationMs=round(duration_ms),
        message=(vote.error or vote.reason)[:MESSAGE_LIMIT],
        input=_value(request),
        output=_output(judgment),
        error=_value(vote.error) if vote.error else None,
        judgment=_judgment(judge, judgment, duration_ms),
    )
    metadata = _metadata(judgment)
    if metadata:
        out["metadata"] = _value(json.dumps(metadata, ensure_ascii=False, default=str), "json")
    return out


def skipped(judge: JudgeSpec) -> dict[str, Any]:
    """The record of a judge that was not asked because the trial was void before."""
    return {**_blank(judge, "skipped"), "message": "There is no valid evidence to judge: the trial is void"}


def usages(judgment: Judgment) -> list[Usage | None]:
    """Tokens of each asking; ``None`` where nobody said."""
    return [vote.usage for vote in judgment.votes]


def _blank(judge: JudgeSpec, status: str) -> dict[str, Any]:
    nothing = {"text": "", "format": "text", "state": "unavailable", "truncated": False}
    return {
        "id": f"judge:{judge.index}",
        "index": judge.index,
        "name": judge.name,
        "kind": "judge",
        "status": status,
        "startedAt": None,
        "durationMs": None,
        "message": "",
        "exitCode": None,
        "truncated": False,
        "input": nothing,
        "output": dict(nothing),
        "error": None,
        "calls": [],
        "logs": [],
    }


def _judgment(judge: JudgeSpec, judgment: Judgment, duration_ms: float) -> dict[str, Any]:
    vote = judgment.decisive
    out: dict[str, Any] = {
        "name": judge.name,
        "model": judge.model,
        "evaluator": judge.harness or judge.provider,
        "score": vote.score,
        "choice": vote.choice,
        "reason": vote.reason,
        "threshold": judge.threshold,
        "durationMs": round(duration_ms),
        "error": vote.error,
    }
    if vote.criteria:
        out["criteria"] = list(vote.criteria)
    total = _total(judgment)
    return {**out, "usage": _usage(total)} if total is not None else out


def _total(judgment: Judgment) -> Usage | None:
    """All votes together; ``None`` as soon as one did not say."""
    total: Usage | None = None
    for used in usages(judgment):
        if used is None:
            return None
        total = used if total is None else total + used
    return total


def _usage(usage: Usage) -> dict[str, Any]:
    out: dict[str, Any] = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "totalTokens": usage.total,
    }
    return out if usage.cost_usd is None else {**out, "costUsd": usage.cost_usd}


def _output(judgment: Judgment) -> dict[str, Any]:
    texts = [vote.text for vote in judgment.votes]
    if not any(texts):
        return {"text": "", "format": "text", "state": "unavailable", "truncated": False}
    return _value(texts[0]) if len(texts) == 1 else _value(json.dumps(texts, ensure_ascii=False), "json")


def _metadata(judgment: Judgment) -> dict[str, Any]:
    if len(judgment.votes) < 2:
        return dict(judgment.decisive.metadata)
    return {"spread": judgment.spread, "votes": [_shown(vote) for vote in judgment.votes]}


def _shown(vote: Vote) -> dict[str, Any]:
    out: dict[str, Any] = {"choice": vote.choice, "score": vote.score, "reason": vote.reason}
    return {**out, **({"error": vote.error} if vote.error else {}), "metadata": vote.metadata}


def _value(text: str, form: str = "text") -> dict[str, Any]:
    return {"text": text, "format": form, "state": "captured", "truncated": False}
