"""Batches and runs as they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio.to_thread
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.results.costs import costs_to_wire, roll_up
from sphynx.results.distribution import distribution
from sphynx.schema.records import CostLine
from sphynx.server.definitions import setup_of
from sphynx.server.identifiers import iso, iso_or_none
from sphynx.server.refusals import not_found
from sphynx.server.store.batches import blank_trial
from sphynx.server.store.tables import (
    BATCHES,
    CASE_VERSIONS,
    ENDED,
    RUNS,
    SUITES,
    TRIALS,
    VARIANTS,
    as_stored,
    expand,
)

_LISTED = [
    BATCHES.c[name]
    for name in (
        "id", "status", "failure", "trigger", "cases", "runs", "passed", "scored", "voided", "started_at",
        "finished_at",
    )
]  # fmt: skip
MOST = 100
PAGE = 20


class Tried:
    """What a distribution reads of a trial."""

    __slots__ = ("commands", "status")

    def __init__(self, status: str, commands: int) -> None:
        self.status = status
        self.commands = commands


async def version(connection: AsyncConnection, org_id: str, batch_id: str) -> str:
    """A word that is another one whenever a batch has changed; 404 when it is not this organization's."""
    counted = [
        sa.func.count().filter(TRIALS.c.status == status) for status in ("queued", "running", *ENDED)
    ]  # fmt: skip
    query = (
        sa.select(
            BATCHES.c.status, BATCHES.c.finished_at, sa.func.sum(TRIALS.c.attempt),
            sa.func.max(TRIALS.c.finished_at), *counted,
        )
        .outerjoin(TRIALS, TRIALS.c.batch_id == BATCHES.c.id)
        .where(BATCHES.c.id == batch_id, BATCHES.c.org_id == org_id)
        .group_by(BATCHES.c.id)
    )  # fmt: skip
    row = (await connection.execute(query)).first()
    if row is None:
        raise not_found(f'batch "{batch_id}"')
    return ".".join("" if part is None else str(part) for part in row)


async def batch(
    connection: AsyncConnection, org_id: str, batch_id: str, *, journals: bool = True
) -> dict[str, Any]:
    """``EvalBatch`` with every run and trial; 404 when it is not this organization's.

    Journals are JSON text as it is stored, for ``msgspec``, and are left empty where nobody shows them.
    """
    query = sa.select(BATCHES).where(BATCHES.c.id == batch_id, BATCHES.c.org_id == org_id)
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise not_found(f'batch "{batch_id}"')
    runs = await _runs(
        connection, org_id, RUNS.c.batch_id == batch_id, RUNS.c.position, journals=journals
    )  # fmt: skip
    return {
        "costs": costs_of(trial["costs"] for run in runs for trial in run["trials"]),
        "failure": row["failure"],
        "finishedAt": iso_or_none(row["finished_at"]),
        "id": row["id"],
        "local": row["local"],
        "runs": runs,
        "startedAt": iso(row["started_at"]),
        "status": row["status"],
        "trigger": row["trigger"],
    }


async def owner(connection: AsyncConnection, batch_id: str) -> str | None:
    """The organization a batch belongs to."""
    query = sa.select(BATCHES.c.org_id).where(BATCHES.c.id == batch_id)
    return (await connection.execute(query)).scalar_one_or_none()


async def list_batches(
    connection: AsyncConnection, org_id: str, cursor: tuple[int, str] | None, limit: int | None
) -> dict[str, Any]:
    """``BatchPage``, newest first."""
    size = page_size(limit)
    mine = BATCHES.c.org_id == org_id
    counted = sa.select(sa.func.count()).select_from(BATCHES).where(mine)
    # Each question costs more than its answer, so the count comes with the rows.
    query = sa.select(*_LISTED, counted.scalar_subquery().label("total")).where(mine)
    if cursor is not None:
        at, last = cursor
        earlier = sa.or_(BATCHES.c.started_at < at, sa.and_(BATCHES.c.started_at == at, BATCHES.c.id < last))
        query = query.where(earlier)
    query = query.order_by(BATCHES.c.started_at.desc(), BATCHES.c.id.desc()).limit(size + 1)
    rows = (await connection.execute(query)).mappings().all()
    total = rows[0]["total"] if rows else (await connection.execute(counted)).scalar_one()
    shown = rows[:size]
    more = len(rows) > size
    return {
        "batches": [_summary(row) for row in shown],
        "next": {"id": shown[-1]["id"], "startedAtMillis": shown[-1]["started_at"]} if more else None,
        "total": total,
    }


def _summary(row: Any) -> dict[str, Any]:
    return {
        "cases": row["cases"],
        "failure": row["failure"],
        "finishedAt": iso_or_none(row["finished_at"]),
        "id": row["id"],
        "passed": row["passed"],
        "runs": row["runs"],
        "scored": row["scored"],
        "startedAt": iso(row["started_at"]),
        "status": row["status"],
        "trigger": row["trigger"],
        "voided": row["voided"],
    }


async def run(connection: AsyncConnection, org_id: str, run_id: str) -> dict[str, Any]:
    """``EvalRun`` with the sources of its checks; 404 when it is not this organization's."""
    found = await _runs(connection, org_id, RUNS.c.id == run_id, RUNS.c.position, files=True)
    if not found:
        raise not_found(f'run "{run_id}"')
    return found[0]


async def list_runs(
    connection: AsyncConnection, org_id: str, case_id: str, variant_id: str | None, page: int
) -> dict[str, Any]:
    """``EvalRunPage`` of a case, newest first."""
    where = sa.and_(RUNS.c.org_id == org_id, RUNS.c.case_id == case_id)
    if variant_id is not None:
        where = sa.and_(where, RUNS.c.variant_id == variant_id)
    total = (await connection.execute(sa.select(sa.func.count()).select_from(RUNS).where(where))).scalar_one()
    query = sa.select(RUNS.c.id).where(where).order_by(RUNS.c.started_at.desc(), RUNS.c.id.desc())
    ids = list((await connection.execute(query.limit(PAGE).offset((page - 1) * PAGE))).scalars())
    runs = await _runs(connection, org_id, RUNS.c.id.in_(ids), RUNS.c.started_at) if ids else []
    runs.sort(key=lambda one: ids.index(one["id"]))
    return {"page": page, "pageSize": PAGE, "runs": runs, "total": total}


async def _runs(
    connection: AsyncConnection,
    org_id: str,
    where: sa.ColumnElement[bool],
    order: Any,
    *,
    files: bool = False,
    journals: bool = True,
) -> list[dict[str, Any]]:
    query = (
        sa.select(
            RUNS, BATCHES.c.local, BATCHES.c.trigger, SUITES.c.name.label("suite_name"),
            VARIANTS.c.harness, VARIANTS.c.model, VARIANTS.c.sandbox, VARIANTS.c.profile,
            VARIANTS.c.user_model, CASE_VERSIONS.c.definition_z,
        )
        .join(BATCHES, BATCHES.c.id == RUNS.c.batch_id)
        .join(VARIANTS, VARIANTS.c.id == RUNS.c.variant_id)
        .outerjoin(SUITES, sa.and_(SUITES.c.org_id == org_id, SUITES.c.id == RUNS.c.suite_id))
        .join(CASE_VERSIONS, sa.and_(
            CASE_VERSIONS.c.org_id == org_id,
            CASE_VERSIONS.c.case_id == RUNS.c.case_id,
            CASE_VERSIONS.c.definition_hash == RUNS.c.definition_hash,
        ))
        .where(where, RUNS.c.org_id == org_id)
        .order_by(order)
    )  # fmt: skip
    rows = (await connection.execute(query)).mappings().all()
    columns = (TRIALS.c.id, TRIALS.c.run_id, TRIALS.c.ordinal, TRIALS.c.status, TRIALS.c.result_z)
    wanted = sa.select(*columns, *((TRIALS.c.journal_z,) if journals else ()))
    trials = await connection.execute(
        wanted.where(TRIALS.c.run_id.in_([row["id"] for row in rows])).order_by(TRIALS.c.ordinal)
    )
    # A hundred long journals take their time to expand, and others are asking meanwhile.
    return await anyio.to_thread.run_sync(_expanded, rows, trials.mappings().all(), files)


def _expanded(rows: Sequence[Any], trials: Sequence[Any], files: bool) -> list[dict[str, Any]]:
    of_run: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:
        result = expand(trial["result_z"]) or blank_trial(trial["id"], trial["ordinal"], trial["status"])
        result["trajectory"] = as_stored(trial.get("journal_z"))
        of_run.setdefault(trial["run_id"], []).append(result)
    setups: dict[str, Any] = {}
    for row in rows:
        if row["definition_hash"] not in setups:
            setups[row["definition_hash"]] = setup_of(expand(row["definition_z"]), files=files)
    return [_run(row, of_run.get(row["id"], []), setups[row["definition_hash"]]) for row in rows]


def _run(row: Any, trials: list[dict[str, Any]], setup: dict[str, Any]) -> dict[str, Any]:
    return {
        "batchId": row["batch_id"],
        "case": {"id": row["case_id"], "name": row["case_name"]},
        "costs": costs_of(trial["costs"] for trial in trials),
        "definitionHash": row["definition_hash"],
        "distribution": spread((trial["status"], trial["commands"]) for trial in trials),
        "finishedAt": iso_or_none(row["finished_at"]),
        "harnessVersion": row["harness_version"],
        "id": row["id"],
        "local": row["local"],
        "profileVersion": row["profile_version"],
        "setup": setup,
        "startedAt": iso(row["started_at"]),
        "status": row["status"],
        "suite": {"id": row["suite_id"], "name": row["suite_name"] or row["suite_id"]},
        "trials": trials,
        "trigger": row["trigger"],
        "variant": variant({**row, "id": row["variant_id"]}),
    }


def variant(row: Mapping[str, Any]) -> dict[str, Any]:
    """``EvalVariant``."""
    return {
        "harness": row["harness"],
        "id": row["id"],
        "model": row["model"],
        "profile": row["profile"] or None,
        "sandbox": row["sandbox"],
        "userModel": row["user_model"] or None,
    }


def spread(trials: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """``EvalDistribution`` of (status, commands) pairs; trials that have not ended do not count yet."""
    return distribution([Tried(status, count) for status, count in trials if status in ENDED]).to_wire()


def costs_of(costs: Iterable[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """``EvalCosts`` over those of several trials; ``None`` when none has any."""
    known = [one for one in costs if one is not None]
    incomplete = any(one.get("incomplete") for one in known)
    return costs_to_wire(roll_up(_lines(one) for one in known), incomplete or None)


def _lines(costs: Mapping[str, Any]) -> list[CostLine]:
    components = [*costs.get("components", ()), *(costs.get("laterComponents") or ())]
    return [CostLine.model_validate(component) for component in components]


def page_size(limit: int | None) -> int:
    """Items of a page: what was asked for, from 1 to 100; 20 when nothing was."""
    return PAGE if limit is None else min(max(limit, 1), MOST)
