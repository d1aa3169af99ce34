"""``sphynx statistics``: how trials did over time."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from sphynx.cli.commands.batches import Debug, Json
from sphynx.errors import ExitCode


class By(StrEnum):
    """What trials are grouped by."""

    suite = "suite"
    case = "case"
    variant = "variant"


class Every(StrEnum):
    """How long a group lasts."""

    all = "all"
    day = "day"
    week = "week"


def statistics(
    by: Annotated[By, typer.Option(help="What trials are grouped by")] = By.suite,
    every: Annotated[Every, typer.Option(help="How long a group lasts, in UTC")] = Every.day,
    days: Annotated[int, typer.Option(min=1, max=3_650, metavar="N", help="How far back")] = 30,
    suite: Annotated[str | None, typer.Option(metavar="ID", help="Only this suite")] = None,
    case: Annotated[str | None, typer.Option(metavar="ID", help="Only this case")] = None,
    variant: Annotated[str | None, typer.Option(metavar="ID", help="Only this variant")] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Pass rates, money and time: day, name, passed of scored, rate, void, dollars, seconds a trial."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json, rows

    with client() as sphynx:
        found = sphynx.evals.statistics.get(
            by=by.value, every=every.value, days=days, suite=suite, case=case, variant=variant
        )
    if json:
        print_json(found)
        return ExitCode.OK
    rows(_cells(row) for row in found.rows)
    if found.more:
        stderr().line("there are more: choose fewer --days, or one --suite, --case or --variant")
    return ExitCode.OK


def _cells(row: Any) -> tuple[str, ...]:
    rate = "-" if row.pass_rate is None else f"{row.pass_rate:.0%}"
    money = "-" if row.usd is None else f"${row.usd:.4f}" + ("+" if row.incomplete else "")
    took = "-" if row.mean_duration_ms is None else f"{row.mean_duration_ms / 1000:.1f}s"
    scored = f"{row.passed}/{row.scored}"
    return f"{row.from_:%Y-%m-%d}", row.name, scored, rate, f"{row.voided} void", money, took
