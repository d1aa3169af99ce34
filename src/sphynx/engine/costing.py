"""What a local trial cost, component by component. What is not known stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from sphynx.engine.other_agents import Spend
from sphynx.journal.events import Usage
from sphynx.pricing import Price, price
from sphynx.schema.records import CostLine


def cost_lines(
    model: str,
    usage: Usage | None,
    *,
    harness: str,
    ran: bool = True,
    observed: str | None = None,
    sandbox: str = "local",
) -> list[CostLine]:
    """Model, harness, sandbox and platform. On one's own machine only the model costs anything.

    ``ran`` is false when no model was ever asked, which is known to cost nothing. The model that answered is
    priced when that is known and listed, else the one that was asked for.
    """
    if not ran:
        return [_UNASKED, *_included(harness, sandbox)]
    answered = _model_line(observed, usage) if observed else None
    line = answered if answered and answered.usd is not None else _model_line(model, usage)
    return [line, *_included(harness, sandbox)]


_UNASKED = CostLine(
    component="model", classification="estimate", usd=0.0, source="harness", explanation="No model was asked"
)


@lru_cache
def _included(harness: str, sandbox: str) -> tuple[CostLine, ...]:
    return (
        CostLine(
            component="harness",
            classification="included",
            usd=0.0,
            source="connection",
            explanation=f"{harness} runs with your own keys",
        ),
        CostLine(
            component="sandbox",
            classification="included",
            usd=0.0,
            source="connection",
            explanation="your own machine",
            detail={"provider": sandbox, "connectionMode": "local", "sessions": 1},
        ),
        CostLine(
            component="platform",
            classification="included",
            usd=0.0,
            source="platform",
            explanation="a local run",
            detail={"evalUnits": 1},
        ),
    )


def _model_line(model: str, usage: Usage | None) -> CostLine:
    found = price(model, usage)
    return CostLine(
        component="model",
        classification="unknown" if found.usd is None else "estimate",
        usd=found.usd,
        source=found.source,
        explanation=found.explanation,
        detail=_detail(model, usage, found),
    )


def other_lines(person: Sequence[Spend], judges: Sequence[Spend]) -> list[CostLine]:
    """What the person and the judges took, one spend per asking, at published rates.

    There is no line for who was never asked. One asking without token counts or without a price leaves its
    line's amount unknown.
    """
    lines = [_spend_line("user", person)] if person else []
    return [*lines, _spend_line("judge", judges)] if judges else lines


def _spend_line(component: Literal["user", "judge"], spends: Sequence[Spend]) -> CostLine:
    priced = [(spend, price(spend.model, spend.usage)) for spend in spends]
    unknown = next((found for _, found in priced if found.usd is None), None)
    models = ", ".join(dict.fromkeys(spend.model for spend in spends))
    tokens = [spend.usage.total for spend in spends if spend.usage is not None]
    return CostLine(
        component=component,
        classification="estimate" if unknown is None else "unknown",
        usd=round(sum(found.usd or 0.0 for _, found in priced), 9) if unknown is None else None,
        source=priced[0][1].source if unknown is None else unknown.source,
        explanation=f"At the published rate of {models}" if unknown is None else _why(unknown),
        detail={
            "model": models,
            "totalTokens": sum(tokens),
            "spends": [_detail(spend.model, spend.usage, found) for spend, found in priced],
        },
    )


def _why(unknown: Price) -> str:
    return unknown.explanation if unknown.source != "harness" else "An answer came without token counts"


def _detail(model: str, usage: Usage | None, found: Price) -> dict[str, Any]:
    detail: dict[str, Any] = {"model": model}
    if usage is not None:
        detail |= {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cacheReadTokens": usage.cache_read_tokens,
            "cacheWriteTokens": usage.cache_write_tokens,
            "totalTokens": usage.total,
        }
    if found.snapshot is not None:
        detail["rateSnapshot"] = found.snapshot
    return detail
