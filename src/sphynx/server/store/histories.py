"""Suites and cases with their histories, as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.schema.wire import ListCasesRequest
from sphynx.server.definitions import setup_of
from sphynx.server.identifiers import iso, iso_or_none
from sphynx.server.refusals import not_found
from sphynx.server.store.results import page_size, spread, variant
from sphynx.server.store.tables import (
    BATCHES,
    CASE_VERSIONS,
    CASES,
    RUNS,
    SUITES,
    TRIALS,
    VARIANTS,
    expand,
)


async def list_suites(
    connection: AsyncConnection, org_id: str, cursor: tuple[int, str] | None, limit: int | None
) -> dict[str, Any]:
    """``EvalSuitePage``, the one that ran last first."""
    size = page_size(limit)
    query = sa.select(SUITES).where(SUITES.c.org_id == org_id)
    if cursor is not None:
        query = query.where(_earlier(SUITES.c.last_run_at, SUITES.c.id, cursor))
    query = query.order_by(SUITES.c.last_run_at.desc(), SUITES.c.id.desc()).limit(size + 1)
    rows = (await connection.execute(query)).mappings().all()
    shown = rows[:size]
    return {
        "next": _place(shown[-1]) if len(rows) > size else None,
        "suites": [await _suite(connection, org_id, row) for row in shown],
    }


async def suite(connection: AsyncConnection, org_id: str, suite_id: str) -> dict[str, Any]:
    """``EvalSuiteDetail``; what its cases do not share is null."""
    query = sa.select(SUITES).where(SUITES.c.org_id == org_id, SUITES.c.id == suite_id)
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise not_found(f'suite "{suite_id}"')
    newest = (
        sa.select(CASES.c.tags, CASE_VERSIONS.c.definition_z)
        .join(CASE_VERSIONS, _newest())
        .where(CASES.c.org_id == org_id, CASES.c.suite_id == suite_id)
    )
    found = (await connection.execute(newest)).all()
    stored = [expand(one.definition_z) for one in found]
    prompts = [one["suite"]["prompt"] for one in stored]
    sources = [one["source"] for one in stored]
    return {
        **await _suite(connection, org_id, row),
        "setup": {"prompt": _shared(prompts), "source": _shared(sources)},
        "tags": sorted({tag for one in found for tag in one.tags}),
    }


def _shared(values: Sequence[Any]) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else None


async def _suite(connection: AsyncConnection, org_id: str, row: Any) -> dict[str, Any]:
    mine = sa.and_(RUNS.c.org_id == org_id, RUNS.c.suite_id == row["id"])
    cases = sa.select(sa.func.count()).where(CASES.c.org_id == org_id, CASES.c.suite_id == row["id"])
    variants = sa.select(sa.func.count(sa.distinct(RUNS.c.variant_id))).where(mine)
    tally = sa.select(sa.func.coalesce(sa.func.sum(BATCHES.c.passed), 0).label("passed"),
                      sa.func.coalesce(sa.func.sum(BATCHES.c.scored), 0).label("scored")).where(
        BATCHES.c.org_id == org_id, BATCHES.c.suite_id == row["id"]
    )  # fmt: skip
    counted = (await connection.execute(tally)).one()
    return {
        "cases": (await connection.execute(cases)).scalar_one(),
        "id": row["id"],
        "lastRunAt": iso_or_none(row["last_run_at"]),
        "name": row["name"],
        "tally": {"passed": int(counted.passed), "scored": int(counted.scored)},
        "variants": (await connection.execute(variants)).scalar_one(),
    }


async def list_cases(connection: AsyncConnection, org_id: str, asked: ListCasesRequest) -> dict[str, Any]:
    """``EvalCasePage``: cases, and the suites and tags there are to filter by."""
    size = page_size(asked.limit)
    rows = [row for row in await _cases(connection, org_id, asked) if asked.tag in (None, *row["tags"])]
    shown = rows[:size]
    names = await connection.execute(sa.select(SUITES.c.id, SUITES.c.name).where(SUITES.c.org_id == org_id))
    every = (await connection.execute(sa.select(CASES.c.tags).where(CASES.c.org_id == org_id))).scalars()
    results = await _results(connection, org_id, [row["id"] for row in shown])
    return {
        "cases": [_case(row, results.get(row["id"], [])) for row in shown],
        "next": {**_place(shown[-1]), "name": shown[-1]["name"]} if len(rows) > size else None,
        "suites": sorted(({"id": one.id, "name": one.name} for one in names), key=lambda one: one["id"]),
        "tags": sorted({tag for tags in every for tag in tags}),
    }


async def _cases(connection: AsyncConnection, org_id: str, asked: ListCasesRequest) -> list[Any]:
    query = (
        sa.select(CASES, SUITES.c.name.label("suite_name"))
        .join(SUITES, sa.and_(SUITES.c.org_id == CASES.c.org_id, SUITES.c.id == CASES.c.suite_id))
        .where(CASES.c.org_id == org_id)
    )
    if asked.suite is not None:
        query = query.where(CASES.c.suite_id == asked.suite)
    if asked.q:
        wanted = asked.q.lower()
        found = sa.func.lower(CASES.c.name).contains(wanted, autoescape=True)
        query = query.where(sa.or_(found, CASES.c.id.contains(wanted, autoescape=True)))
    by_name = asked.sort == "name"
    first = CASES.c.name if by_name else CASES.c.last_run_at
    rising = (asked.order or ("asc" if by_name else "desc")) == "asc"
    if asked.cursor is not None:
        last = (asked.cursor.name or "") if by_name else asked.cursor.started_at_millis
        query = query.where(_beyond(first, CASES.c.id, last, asked.cursor.id, rising=rising))
    ordered = (first.asc(), CASES.c.id.asc()) if rising else (first.desc(), CASES.c.id.desc())
    query = query.order_by(*ordered)
    if asked.tag is None:
        # Tags are looked at in Python, so a page by tag has to see every case.
        query = query.limit(page_size(asked.limit) + 1)
    return list((await connection.execute(query)).mappings().all())


async def case(connection: AsyncConnection, org_id: str, case_id: str) -> dict[str, Any]:
    """``EvalCaseDetail``: its setup now, its versions newest first, the variants it has run on."""
    query = (
        sa.select(CASES, SUITES.c.name.label("suite_name"))
        .join(SUITES, sa.and_(SUITES.c.org_id == CASES.c.org_id, SUITES.c.id == CASES.c.suite_id))
        .where(CASES.c.org_id == org_id, CASES.c.id == case_id)
    )
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise not_found(f'case "{case_id}"')
    every = (
        sa.select(CASE_VERSIONS)
        .where(CASE_VERSIONS.c.org_id == org_id, CASE_VERSIONS.c.case_id == case_id)
        .order_by(CASE_VERSIONS.c.created_at.desc())
    )
    versions = (await connection.execute(every)).mappings().all()
    now = next(one for one in versions if one["definition_hash"] == row["definition_hash"])
    results = await _results(connection, org_id, [case_id])
    shown = _case(row, results.get(case_id, []))
    return {
        "id": shown["id"],
        "name": shown["name"],
        "setup": setup_of(expand(now["definition_z"]), files=True),
        "suite": shown["suite"],
        "tags": shown["tags"],
        "variants": shown["variants"],
        "versions": [
            {
                "author": one["author"],
                "changes": one["changes"],
                "createdAt": iso(one["created_at"]),
                "definitionHash": one["definition_hash"],
            }
            for one in versions
        ],
    }


def _case(row: Any, results: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "lastRunAt": iso(row["last_run_at"]),
        "name": row["name"],
        "suite": {"id": row["suite_id"], "name": row["suite_name"]},
        "tags": row["tags"],
        "variants": results,
    }


async def _results(
    connection: AsyncConnection, org_id: str, case_ids: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """``EvalVariantResult`` per case: how it last did on each variant."""
    # Counted from an index alone: a case may have run ten thousand times.
    pairs = (
        sa.select(
            RUNS.c.case_id, RUNS.c.variant_id, sa.func.count().label("count"),
            sa.func.max(RUNS.c.started_at).label("newest"),
        )
        .where(RUNS.c.org_id == org_id, RUNS.c.case_id.in_(case_ids))
        .group_by(RUNS.c.case_id, RUNS.c.variant_id)
        .subquery()
    )  # fmt: skip
    query = (
        sa.select(
            RUNS.c.id, RUNS.c.case_id, RUNS.c.status, RUNS.c.started_at, RUNS.c.variant_id, pairs.c.count,
            VARIANTS.c.harness, VARIANTS.c.model, VARIANTS.c.sandbox, VARIANTS.c.profile,
            VARIANTS.c.user_model,
        )
        .join(pairs, sa.and_(
            RUNS.c.case_id == pairs.c.case_id,
            RUNS.c.variant_id == pairs.c.variant_id,
            RUNS.c.started_at == pairs.c.newest,
        ))
        .join(VARIANTS, VARIANTS.c.id == RUNS.c.variant_id)
        .where(RUNS.c.org_id == org_id)
        .order_by(RUNS.c.started_at.desc(), RUNS.c.id)
    )  # fmt: skip
    found_rows = (await connection.execute(query)).mappings().all()
    # Of two that began in one millisecond the later id counts.
    rows = list({(row["case_id"], row["variant_id"]): row for row in found_rows}.values())
    tried = await _tried(connection, [row["id"] for row in rows])
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["case_id"], []).append(
            {
                "distribution": spread(tried.get(row["id"], [])),
                "lastRunAt": iso(row["started_at"]),
                "lastRunId": row["id"],
                "runs": row["count"],
                "status": row["status"],
                "variant": variant({**row, "id": row["variant_id"]}),
            }
        )
    return found


async def _tried(connection: AsyncConnection, run_ids: Sequence[str]) -> dict[str, list[tuple[str, int]]]:
    query = sa.select(TRIALS.c.run_id, TRIALS.c.status, TRIALS.c.commands).where(TRIALS.c.run_id.in_(run_ids))
    found: dict[str, list[tuple[str, int]]] = {}
    for row in (await connection.execute(query)).all():
        found.setdefault(row.run_id, []).append((row.status, row.commands))
    return found


async def newest_definition(connection: AsyncConnection, org_id: str, case_id: str) -> tuple[Any, list[str]]:
    """A case's row with its newest stored definition, and the ids of the variants it has run on.

    404 when there is no such case.
    """
    query = (
        sa.select(CASES, CASE_VERSIONS.c.definition_z)
        .join(CASE_VERSIONS, _newest())
        .where(CASES.c.org_id == org_id, CASES.c.id == case_id)
    )
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise not_found(f'case "{case_id}"')
    variants = (
        sa.select(RUNS.c.variant_id, sa.func.max(RUNS.c.started_at).label("at"))
        .where(RUNS.c.org_id == org_id, RUNS.c.case_id == case_id)
        .group_by(RUNS.c.variant_id)
        .order_by(sa.desc("at"), RUNS.c.variant_id)
    )
    return row, [one.variant_id for one in (await connection.execute(variants)).all()]


async def last_runs(
    connection: AsyncConnection, org_id: str, case_id: str, variant_ids: Sequence[str]
) -> list[Any]:
    """The newest run of a case on each of these variants, with the variant's own columns."""
    found = []
    for variant_id in variant_ids:
        query = (
            sa.select(RUNS, VARIANTS.c.harness, VARIANTS.c.model, VARIANTS.c.sandbox, VARIANTS.c.profile)
            .join(VARIANTS, VARIANTS.c.id == RUNS.c.variant_id)
            .where(RUNS.c.org_id == org_id, RUNS.c.case_id == case_id, RUNS.c.variant_id == variant_id)
            .order_by(RUNS.c.started_at.desc())
            .limit(1)
        )
        row = (await connection.execute(query)).mappings().first()
        if row is None:
            raise not_found(f'variant "{variant_id}" of case "{case_id}"')
        found.append(row)
    return found


def _newest() -> sa.ColumnElement[bool]:
    return sa.and_(
        CASE_VERSIONS.c.org_id == CASES.c.org_id,
        CASE_VERSIONS.c.case_id == CASES.c.id,
        CASE_VERSIONS.c.definition_hash == CASES.c.definition_hash,
    )


def _place(row: Any) -> dict[str, Any]:
    return {"id": row["id"], "startedAtMillis": row["last_run_at"]}


def _earlier(at: Any, key: Any, cursor: tuple[int, str]) -> sa.ColumnElement[bool]:
    return _beyond(at, key, cursor[0], cursor[1], rising=False)


def _beyond(first: Any, second: Any, last: Any, last_id: str, *, rising: bool) -> sa.ColumnElement[bool]:
    further = first > last if rising else first < last
    same = second > last_id if rising else second < last_id
    return sa.or_(further, sa.and_(first == last, same))
