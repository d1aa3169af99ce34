"""What started a batch, and what its token counts warn of."""

from __future__ import annotations

import pytest

from case_data import case_id, load
from sphynx.results.trigger import from_env
from sphynx.results.warnings import explained, usage_warnings
from sphynx.schema.records import UsageRecord


@pytest.mark.parametrize("case", load("trigger"), ids=case_id)
def test_trigger(case: dict) -> None:
    """The worked cases of the contract."""
    assert from_env(case["input"]["env"]) == case["expected"]


def test_a_run_without_repository_has_no_link() -> None:
    """Half a link is none; the first attempt on github.com is the default."""
    env = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7"}
    assert from_env(env) == {"source": "ci"}
    assert from_env({**env, "GITHUB_REPOSITORY": "a/b"}) == {
        "source": "ci",
        "url": "https://github.com/a/b/actions/runs/7/attempts/1",
    }


def usage(read: int, cached: int) -> UsageRecord:
    return UsageRecord(input_tokens=read, output_tokens=10, cache_read_tokens=cached, total_tokens=read + 10)


@pytest.mark.parametrize("case", load("usage-warnings"), ids=case_id)
def test_usage_warnings(case: dict) -> None:
    """The worked cases of the contract."""
    given = case["input"]
    found = usage_warnings(usage(given["inputTokens"], given["cacheReadTokens"]), given["turns"])
    assert found == case["expected"]["concerns"]


def test_warnings_are_told_with_their_numbers() -> None:
    """A reader sees how far beyond the limit a trial was."""
    assert explained("context-grew-fast", usage(50_001, 0), 2) == (
        "re-read a large context on every turn: 25,001 fresh input tokens a turn (12,000 or more)"
    )
    assert explained("nothing-cached", usage(50_001, 0), 2) == (
        "got nothing from the cache: 50,001 input tokens, 0 cached (50,000 or more)"
    )
    assert explained("from-the-future", usage(1, 0), 1) == "from-the-future"


def test_no_usage_warns_of_nothing_and_no_turn_counts_as_one() -> None:
    """A harness that reports nothing is not accused; tokens without a turn are all of one."""
    assert usage_warnings(None, 3) == []
    assert usage_warnings(usage(12_000, 1), 0) == ["context-grew-fast"]
