"""What a local trial cost, component by component. What is not known stays unknown."""

from __future__ import annotations

from functools import lru_cache

from sphynx.journal.events import Usage
from sphynx.pricing import price
from sphynx.schema.records import CostLine


def cost_lines(
    model: str, usage: Usage | None, *, harness: str, ran: bool = True, observed: str | None = None
) -> list[CostLine]:
    """Model, harness, sandbox and platform. On one's own machine only the model costs anything.

    ``ran`` is false when no model was ever asked, which is known to cost nothing. The model that answered is
    priced when that is known and listed, else the one that was asked for.
    """
    if not ran:
        return [_UNASKED, *_included(harness)]
    answered = _model_line(observed, usage) if observed else None
    line = answered if answered and answered.usd is not None else _model_line(model, usage)
    return [line, *_included(harness)]


_UNASKED = CostLine(
    component="model", classification="estimate", usd=0.0, source="harness", explanation="No model was asked"
)


@lru_cache
def _included(harness: str) -> tuple[CostLine, ...]:
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
            detail={"provider": "local", "connectionMode": "local", "sessions": 1},
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
    detail: dict[str, object] = {"model": model}
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
    return CostLine(
        component="model",
        classification="unknown" if found.usd is None else "estimate",
        usd=found.usd,
        source=found.source,
        explanation=found.explanation,
        detail=detail,
    )
