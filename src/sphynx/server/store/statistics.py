"""How trials did over time: counted by the database, by suite, case or variant."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.schema.wire import StatisticsRequest
from sphynx.server.identifiers import iso, now_ms
from sphynx.server.store.results import variant
from sphynx.server.store.tables import CASES, ENDED, RUNS, SUITES, TRIALS, VARIANTS

MOST = 1_000
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
_MONDAY_MS = 3 * DAY_MS
"""The epoch began on a Thursday."""
_MONEY = ("knownActualUsd", "estimatedEquivalentUsd", "allocatedUsd")


async def statistics(connection: AsyncConnection, org_id: str, asked: StatisticsRequest) -> dict[str, Any]:
    """``Statistics``."""
    since = now_ms() - asked.days * DAY_MS
    key = {"suite": RUNS.c.suite_id, "case": RUNS.c.case_id, "variant": RUNS.c.variant_id}[asked.by]
    start = _bucket(asked.every, since)
    query = (
        sa.select(key.label("group_id"), start.label("group_start"), *_sums())
        .select_from(TRIALS)
        .join(RUNS, RUNS.c.id == TRIALS.c.run_id)
        .where(
            RUNS.c.org_id == org_id,
            RUNS.c.started_at >= since,
            TRIALS.c.status.in_(ENDED),
            *_chosen(asked),
        )
        .group_by("group_id", "group_start")
        .order_by(sa.desc("group_start"), "group_id")
        .limit(MOST + 1)
    )
    rows = (await connection.execute(query)).mappings().all()
    named = await _names(connection, org_id, asked.by, {row["group_id"] for row in rows})
    return {"rows": [_row(row, named[row["group_id"]]) for row in rows[:MOST]], "more": len(rows) > MOST}


def _chosen(asked: StatisticsRequest) -> list[sa.ColumnElement[bool]]:
    wanted = {RUNS.c.suite_id: asked.suite, RUNS.c.case_id: asked.case, RUNS.c.variant_id: asked.variant}
    return [column == value for column, value in wanted.items() if value is not None]


def _bucket(every: str, since: int) -> sa.ColumnElement[int]:
    began = RUNS.c.started_at
    if every == "all":
        return sa.literal_column(str(since), sa.BigInteger)
    # As literals, since Postgres takes two bound values for two different expressions.
    width, shift = (WEEK_MS, _MONDAY_MS) if every == "week" else (DAY_MS, 0)
    return began - (began + sa.literal_column(str(shift))) % sa.literal_column(str(width))


def _sums() -> list[sa.ColumnElement[Any]]:
    def count(status: str) -> sa.ColumnElement[int]:
        return sa.func.sum(sa.case((TRIALS.c.status == status, 1), else_=0))

    money = [sa.func.coalesce(TRIALS.c.costs[name].as_float(), 0.0) for name in _MONEY]
    priced = TRIALS.c.costs["incomplete"].as_boolean()
    ran = sa.and_(priced.is_(None), TRIALS.c.status != "void")
    unknown = sa.or_(ran, priced.is_(sa.true()))
    return [
        sa.func.count().label("trials"),
        sa.func.count(sa.distinct(TRIALS.c.run_id)).label("runs"),
        count("passed").label("passed"),
        count("failed").label("failed"),
        count("void").label("voided"),
        sa.func.sum(sa.case((priced.is_not(None), sum(money[1:], money[0])))).label("usd"),
        sa.func.sum(sa.case((unknown, 1), else_=0)).label("unpriced"),
        sa.func.avg(TRIALS.c.finished_at - TRIALS.c.started_at).label("took"),
    ]


async def _names(
    connection: AsyncConnection, org_id: str, by: str, ids: set[str]
) -> dict[str, dict[str, Any]]:
    table = {"suite": SUITES, "case": CASES, "variant": VARIANTS}[by]
    query = sa.select(table).where(table.c.org_id == org_id, table.c.id.in_(ids))
    found = (await connection.execute(query)).mappings().all()
    if by != "variant":
        return {row["id"]: {"name": row["name"]} for row in found}
    return {row["id"]: {"name": _label(row), "variant": variant(dict(row))} for row in found}


def _label(row: Any) -> str:
    return f"{row['harness']}/{row['model']}" + (f"@{row['profile']}" if row["profile"] else "")


def _row(row: Any, named: dict[str, Any]) -> dict[str, Any]:
    scored = row["passed"] + row["failed"]
    return {
        "id": row["group_id"],
        **named,
        "from": iso(row["group_start"]),
        "runs": row["runs"],
        "trials": row["trials"],
        "passed": row["passed"],
        "scored": scored,
        "voided": row["voided"],
        "passRate": row["passed"] / scored if scored else None,
        "usd": None if row["usd"] is None else round(float(row["usd"]), 9),
        "incomplete": bool(row["unpriced"]),
        "meanDurationMs": None if row["took"] is None else round(float(row["took"])),
    }
