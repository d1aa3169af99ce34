"""How a run's trials came out, and how sure one may be of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.results.distribution import distribution
from sphynx.results.statistics import measured, pass_at_k, pass_hat_k, spread, wilson
from sphynx.schema.records import Score, TrialRecord
from sphynx.schema.wire import EvalDistribution


@dataclass
class Trial:
    status: str
    commands: int = 0


@pytest.mark.parametrize("case", load("distribution"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    trials = [Trial(outcome["status"], outcome["commandCount"]) for outcome in case["input"]["outcomes"]]
    assert distribution(trials).to_wire() == case["expected"]


statuses = st.lists(st.sampled_from(["passed", "failed", "void", "timed_out", "cancelled"]), max_size=10)


@given(statuses)
def test_only_scored_trials_count(found: list[str]) -> None:
    """Void, timed out and cancelled trials are never a pass or a fail, and never a zero in the rate."""
    whole = distribution(Trial(status, 3) for status in found)
    scored = distribution(Trial(status, 3) for status in found if status in ("passed", "failed"))
    assert (whole.passed, whole.failed, whole.pass_rate) == (scored.passed, scored.failed, scored.pass_rate)
    assert whole.scored + whole.voided == whole.trials == len(found)
    assert (whole.interval is None) == (whole.scored < 2)
    EvalDistribution.model_validate(whole.to_wire())


def test_nothing_scored_is_no_result() -> None:
    """The rate is 0, no interval, no command counts, not deterministic."""
    empty = distribution([Trial("void", 9), Trial("timed_out", 9)])
    assert (empty.pass_rate, empty.interval, empty.command_max, empty.deterministic) == (0.0, None, 0, False)


@pytest.mark.parametrize(
    ("passed", "scored", "low", "high"),
    [(3, 3, 0.4385, 1.0), (1, 2, 0.0945, 0.9055), (0, 4, 0.0, 0.4899), (7, 10, 0.3968, 0.8922)],
)
def test_wilson_interval(passed: int, scored: int, low: float, high: float) -> None:
    """Known values of the 95 % score interval."""
    assert wilson(passed, scored) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate(counts: tuple[int, int]) -> None:
    """It lies within 0 and 1 and around the rate."""
    passed, scored = counts
    low, high = wilson(passed, scored)
    assert 0 <= low <= passed / scored <= high <= 1


def test_nothing_is_known_of_nothing() -> None:
    """No trials: the whole range."""
    assert wilson(0, 0) == (0.0, 1.0)


def test_chances_over_several_attempts() -> None:
    """pass@k: at least one of k passes; pass^k: all do. Unbiased, and unknown with too few trials."""
    assert pass_at_k(1, 4, 1) == 0.25
    assert pass_at_k(1, 4, 2) == 0.5
    assert pass_at_k(2, 2, 2) == 1
    assert pass_hat_k(3, 4, 1) == 0.75
    assert pass_hat_k(3, 4, 2) == 0.5
    assert pass_hat_k(1, 4, 2) == 0
    assert pass_at_k(1, 1, 2) is None
    assert pass_hat_k(0, 0, 1) is None
    assert pass_at_k(1, 1, 0) is None


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, n))))
def test_one_of_k_is_never_less_likely_than_all_of_k(counts: tuple[int, int, int]) -> None:
    """And both are chances."""
    one, every = pass_at_k(*counts), pass_hat_k(*counts)
    assert one is not None
    assert every is not None
    assert 0 <= every <= one <= 1


def test_mean_and_spread() -> None:
    """Sample deviation; one value has none; what is not a number is left out."""
    found = spread([1, 2, 3, float("nan")])
    assert found is not None
    assert (found.count, found.mean, found.deviation, found.low, found.high) == (3, 2, 1, 1, 3)
    assert spread([5]).deviation == 0  # type: ignore[union-attr]
    assert spread([float("inf")]) is None


def test_scores_and_metrics_of_a_run() -> None:
    """Per check and metric over the scored trials; a void one measured nothing that counts."""

    def trial(status: str, *scores: Score) -> TrialRecord:
        return TrialRecord(
            id="t", batch_id="b", suite_id="s", case_id="c", variant="h/m", ordinal=1, status=status,
            isolation="none", harness="h", harness_version="", model="m",
            started_at="2030-01-01T00:00:00.000Z", duration_ms=1, scores=list(scores),
        )  # fmt: skip

    found = measured(
        [
            trial("passed", Score(check="tidy", score=0.5, metrics={"lines": 10})),
            trial("failed", Score(check="tidy", score=1.0, metrics={"lines": 20}), Score(check="fast")),
            trial("void", Score(check="tidy", score=0.0)),
        ]
    )
    assert [(item.check, item.metric, item.spread.mean) for item in found] == [
        ("tidy", None, 0.75),
        ("tidy", "lines", 15),
    ]
