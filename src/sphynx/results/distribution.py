"""How the trials of one run came out. Only scored trials count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

from sphynx.results.statistics import wilson

SCORED = ("passed", "failed")
_SAME_WORK = 4
"""Command counts of deterministic trials lie at most this far apart."""


class Outcome(Protocol):
    """What the distribution reads of a trial; a ``TrialRecord`` is one."""

    @property
    def status(self) -> str: ...
    @property
    def commands(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Distribution:
    """Counts of one run. ``pass_rate`` is 0 when nothing was scored, which is not a result."""

    trials: int
    voided: int
    """Trials that were not scored: void, timed out, cancelled."""
    scored: int
    passed: int
    failed: int
    pass_rate: float
    command_min: int
    command_max: int
    command_median: float
    deterministic: bool
    """At least two scored trials, all agreeing, with command counts within four of each other."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % Wilson interval of the pass rate; ``None`` with fewer than two scored trials."""
        return wilson(self.passed, self.scored) if self.scored > 1 else None

    def to_wire(self) -> dict[str, Any]:
        """The wire's ``EvalDistribution``."""
        return {
            "commandMax": self.command_max,
            "commandMedian": self.command_median,
            "commandMin": self.command_min,
            "deterministic": self.deterministic,
            "failed": self.failed,
            "passRate": self.pass_rate,
            "passed": self.passed,
            "scored": self.scored,
            "trials": self.trials,
            "voided": self.voided,
        }


def distribution(trials: Iterable[Outcome]) -> Distribution:
    """The distribution of a run's trials."""
    every = list(trials)
    scored = [trial for trial in every if trial.status in SCORED]
    passed = sum(trial.status == "passed" for trial in scored)
    commands = [trial.commands for trial in scored]
    low, high = (min(commands), max(commands)) if commands else (0, 0)
    agreed = passed in (0, len(scored))
    return Distribution(
        trials=len(every),
        voided=len(every) - len(scored),
        scored=len(scored),
        passed=passed,
        failed=len(scored) - passed,
        pass_rate=passed / len(scored) if scored else 0.0,
        command_min=low,
        command_max=high,
        command_median=median(commands) if commands else 0,
        deterministic=len(scored) > 1 and agreed and high - low <= _SAME_WORK,
    )
