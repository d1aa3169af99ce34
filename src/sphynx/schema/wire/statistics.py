"""Ours, not the contract's: how trials did over time."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from sphynx.schema.wire.batch import EvalVariant
from sphynx.schema.wire.shape import Answer, EvalTimestamp, Int, Maybe, Request
from sphynx.schema.wire.suite import EvalCaseId, EvalSuiteId

GroupedBy: TypeAlias = Literal["suite", "case", "variant"]
Every: TypeAlias = Literal["all", "day", "week"]


class StatisticsRequest(Request):
    """Group the ended trials of the last ``days`` by what they ran, and by when their batch began (UTC)."""

    by: GroupedBy
    every: Every = "day"
    days: Annotated[int, Field(ge=1, le=3_650)] = 30
    suite: Maybe[EvalSuiteId] = None
    case: Maybe[EvalCaseId] = None
    variant: Maybe[str] = None


class StatisticsRow(Answer):
    """One group. ``passRate`` is null when nothing was scored, a mean when nobody knows one value of it.

    ``usd`` sums what is known; ``incomplete`` says that something is not.
    """

    id: str
    name: str
    variant: Maybe[EvalVariant] = None
    from_: Annotated[EvalTimestamp, Field(alias="from")]
    runs: Int
    trials: Int
    passed: Int
    scored: Int
    voided: Int
    pass_rate: float | None
    usd: float | None
    incomplete: bool
    mean_duration_ms: float | None


class Statistics(Answer):
    """The newest groups first, at most 1,000; ``more`` says that there are others."""

    rows: list[StatisticsRow]
    more: bool
