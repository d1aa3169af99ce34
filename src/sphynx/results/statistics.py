"""What a few trials let one say: intervals, pass@k and pass^k, mean and spread of measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, isfinite, sqrt
from statistics import fmean, stdev

from sphynx.schema.records import TrialRecord

_Z95 = 1.959963984540054
"""Two-sided 95 % point of the normal distribution."""


def wilson(passed: int, scored: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of ``passed`` out of ``scored``, each end from 0 to 1.

    ``(0.0, 1.0)`` when nothing was scored: nothing is known.
    """
    if scored <= 0:
        return 0.0, 1.0
    rate = passed / scored
    z2 = _Z95 * _Z95
    centre = rate + z2 / (2 * scored)
    reach = _Z95 * sqrt(rate * (1 - rate) / scored + z2 / (4 * scored * scored))
    scale = 1 + z2 / scored
    # The ends are exact where the rate is: rounding must not leave 0.9999 for a certain 1.
    low = 0.0 if passed == 0 else max(0.0, (centre - reach) / scale)
    high = 1.0 if passed == scored else min(1.0, (centre + reach) / scale)
    return low, high


def pass_at_k(passed: int, scored: int, k: int) -> float | None:
    """The unbiased chance that at least one of ``k`` attempts passes.

    ``None`` when fewer than ``k`` trials were scored: it cannot be estimated.
    """
    if k < 1 or scored < k:
        return None
    ways = comb(scored, k)
    return (ways - comb(scored - passed, k)) / ways


def pass_hat_k(passed: int, scored: int, k: int) -> float | None:
    """The unbiased chance that all of ``k`` attempts pass (pass^k); ``None`` as in ``pass_at_k``."""
    if k < 1 or scored < k:
        return None
    return comb(passed, k) / comb(scored, k)


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and spread of one measurement over the trials that have it."""

    count: int
    mean: float
    deviation: float
    """Sample standard deviation; 0 with one value."""
    low: float
    high: float


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and spread; ``None`` without values. Values that are not finite are left out."""
    known = [float(value) for value in values if isfinite(value)]
    if not known:
        return None
    deviation = stdev(known) if len(known) > 1 else 0.0
    return Spread(len(known), fmean(known), deviation, min(known), max(known))


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement of one check over a run's trials; ``metric`` is ``None`` for its score."""

    check: str
    metric: str | None
    spread: Spread


def measured(trials: Sequence[TrialRecord]) -> list[Measured]:
    """Scores and metrics of the scored trials of a run, in the order they first appear."""
    values: dict[tuple[str, str | None], list[float]] = {}
    for trial in trials:
        if trial.status not in ("passed", "failed"):
            continue
        for score in trial.scores:
            if score.score is not None:
                values.setdefault((score.check, None), []).append(score.score)
            for name, value in score.metrics.items():
                values.setdefault((score.check, name), []).append(value)
    found = ((check, metric, spread(numbers)) for (check, metric), numbers in values.items())
    return [Measured(check, metric, known) for check, metric, known in found if known is not None]
