"""What a run's trials let one say, in words: rate, counts, interval, pass@k, measurements, money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sphynx.cli.render import figures
from sphynx.cli.render.style import words
from sphynx.cli.render.summary import run_cost
from sphynx.cli.render.text import one_line, pad, width
from sphynx.results.distribution import Distribution, distribution
from sphynx.results.statistics import measured, pass_at_k, pass_hat_k
from sphynx.schema.records import TrialRecord

_SMALL = 3
"""Runs with more scored trials also say what three attempts would give."""


@dataclass(frozen=True, slots=True)
class RowFacts:
    """The texts of one grid row; empty where there is nothing to say."""

    rate: str
    colour: str
    counts: str
    interval: str
    repeats: str
    chances: str
    cost: str
    scores: tuple[str, ...]


def row_facts(records: Sequence[TrialRecord], planned: int) -> RowFacts:
    """Facts of the trials of one run that have ended, of those that were planned."""
    found = distribution(records)
    usd = run_cost(records)
    return RowFacts(
        rate=figures.percent(found.pass_rate) if found.scored else "-",
        colour="green" if found.scored and found.passed == found.scored else "red" if found.failed else "dim",
        counts=_counts(found, records, planned),
        interval=_interval(found),
        repeats="deterministic" if found.deterministic else "",
        chances=_chances(found),
        cost=figures.money(usd) if usd else "",
        scores=tuple(_scores(records)),
    )


def _counts(found: Distribution, records: Sequence[TrialRecord], planned: int) -> str:
    """``2 of 3 scored, 1 timed out``: what was not scored, by how it ended."""
    parts = [f"{found.scored} of {planned} scored"]
    for status in ("void", "timed_out", "cancelled"):
        if number := sum(record.status == status for record in records):
            parts.append(f"{number} {words(status)}")
    if (left := planned - found.trials) > 0:
        parts.append(f"{left} not run")
    return ", ".join(parts)


def _interval(found: Distribution) -> str:
    if found.interval is None:
        return ""
    low, high = (round(end * 100) for end in found.interval)
    return f"95% CI {low}-{high}"


def _chances(found: Distribution) -> str:
    if found.scored < 2:
        return ""
    certain = found.passed in (0, found.scored)
    sizes = [found.scored] if certain or found.scored <= _SMALL else [_SMALL, found.scored]
    parts: list[str] = []
    for name, chance in (("pass@", pass_at_k), ("pass^", pass_hat_k)):
        for size in sizes:
            value = chance(found.passed, found.scored, size)
            if value is not None:
                parts.append(f"{name}{size} {figures.percent(value)}")
    return "  ".join(parts)


def _scores(records: Sequence[TrialRecord]) -> list[str]:
    rows: list[tuple[str, str, str, str]] = []
    for item in measured(records):
        spread, values, ends = item.spread, f"mean {figures.number(item.spread.mean)}", ""
        if spread.count > 1:
            values += f" ± {figures.number(spread.deviation)}"
            ends = f"from {figures.number(spread.low)} to {figures.number(spread.high)}"
        name = f"{one_line(item.check)}: {one_line(item.metric or 'score')}"
        rows.append((name, values, ends, figures.plural(spread.count, "trial")))
    rooms = [max((width(row[column]) for row in rows), default=0) for column in range(3)]
    return [
        "   ".join(pad(text, room) for text, room in zip(row, rooms, strict=False) if room) + f"   {row[3]}"
        for row in rows
    ]
