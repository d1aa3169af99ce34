"""Batches while they live: created, their trials settled one by one, finished, failed or cancelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.server.definitions import Definition
from sphynx.server.identifiers import new_id, now_ms
from sphynx.server.refusals import conflict, not_found
from sphynx.server.store.database import Database
from sphynx.server.store.tables import BATCHES, CHECKPOINTS, ENDED, RUNS, TRIALS, squeeze

PRIORITY = 5
"""Of batches that name none; 1 goes first."""


@dataclass(frozen=True, slots=True)
class VariantToRun:
    """A stored variant with what a run on it needs to know."""

    id: str
    harness_version: str
    profile_version: str | None
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch to create: every case on its variants, ``trials`` times. ``variants`` has them by case id."""

    org_id: str
    suite_id: str
    cases: Sequence[Definition]
    variants: Mapping[str, Sequence[VariantToRun]]
    trials: int
    local: bool = False
    checks_in: bool = False
    trigger: dict[str, Any] | None = None
    author: str | None = None
    idempotency_key: str | None = None
    request_hash: str | None = None
    priority: int = PRIORITY


async def running(connection: AsyncConnection, org_id: str) -> int:
    """How many batches of an organization run."""
    query = (
        sa.select(sa.func.count())
        .select_from(BATCHES)
        .where(BATCHES.c.org_id == org_id, BATCHES.c.status == "running")
    )
    return (await connection.execute(query)).scalar_one()


async def started_before(
    connection: AsyncConnection, org_id: str, key: str, request_hash: str
) -> dict[str, Any] | None:
    """The batch a key was used for, as ``StartedBatch``; 409 when it was used for another request."""
    query = sa.select(BATCHES.c.id, BATCHES.c.request_hash).where(
        BATCHES.c.org_id == org_id, BATCHES.c.idempotency_key == key
    )
    row = (await connection.execute(query)).first()
    if row is None:
        return None
    if row.request_hash not in (None, request_hash):
        raise conflict("this idempotency key was used for another request: send a new key")
    return await started(connection, row.id)


async def started(connection: AsyncConnection, batch_id: str) -> dict[str, Any]:
    """``StartedBatch`` of a batch."""
    query = (
        sa.select(RUNS.c.id, RUNS.c.case_id, RUNS.c.variant_id)
        .where(RUNS.c.batch_id == batch_id)
        .order_by(RUNS.c.position)
    )
    rows = (await connection.execute(query)).all()
    runs = [{"caseId": row.case_id, "id": row.id, "variantId": row.variant_id} for row in rows]
    return {"id": batch_id, "runs": runs}


async def create(connection: AsyncConnection, new: NewBatch) -> dict[str, Any]:
    """Write a batch with its runs and queued trials; ``StartedBatch``."""
    batch_id, at = new_id("evb"), now_ms()
    runs, trials = [], []
    for definition in new.cases:
        for variant in new.variants[definition.case_id]:
            run = _run(new, definition, variant, batch_id, len(runs), at)
            runs.append(run)
            trials += [_trial(run, ordinal) for ordinal in range(1, new.trials + 1)]
    await connection.execute(
        sa.insert(BATCHES).values(
            id=batch_id, org_id=new.org_id, suite_id=new.suite_id, status="running", local=new.local,
            checks_in=new.checks_in, trigger=new.trigger, cases=len(new.cases), runs=len(runs), passed=0,
            scored=0, voided=0, enqueued=new.local, priority=new.priority, author=new.author,
            request_hash=new.request_hash, idempotency_key=new.idempotency_key, started_at=at, seen_at=at,
        )
    )  # fmt: skip
    await connection.execute(sa.insert(RUNS), runs)
    await connection.execute(sa.insert(TRIALS), trials)
    listed = [{"caseId": run["case_id"], "id": run["id"], "variantId": run["variant_id"]} for run in runs]
    return {"id": batch_id, "runs": listed}


def _run(
    new: NewBatch, definition: Definition, variant: VariantToRun, batch_id: str, position: int, at: int
) -> dict[str, Any]:
    return {
        "id": new_id("evr"), "org_id": new.org_id, "batch_id": batch_id, "case_id": definition.case_id,
        "case_name": definition.name, "suite_id": new.suite_id, "variant_id": variant.id,
        "position": position, "status": "running", "trials": new.trials,
        "definition_hash": definition.hash, "harness_version": variant.harness_version,
        "profile_version": variant.profile_version, "options": variant.options, "started_at": at,
        "finished_at": None,
    }  # fmt: skip


def _trial(run: Mapping[str, Any], ordinal: int) -> dict[str, Any]:
    return {
        "id": new_id("evt"), "org_id": run["org_id"], "batch_id": run["batch_id"], "run_id": run["id"],
        "ordinal": ordinal, "status": "queued", "attempt": 0, "worker": None, "commands": 0, "costs": None,
        "result_z": None, "journal_z": None, "started_at": None, "finished_at": None,
    }  # fmt: skip


async def begin_trial(database: Database, trial_id: str, worker: str) -> int | None:
    """A worker takes a trial: the number of this attempt; ``None`` when it has ended or its batch has."""
    async with database.write() as connection:
        query = (
            sa.select(TRIALS.c.status, TRIALS.c.attempt, BATCHES.c.status.label("batch"))
            .join(BATCHES, BATCHES.c.id == TRIALS.c.batch_id)
            .where(TRIALS.c.id == trial_id)
        )
        row = (await connection.execute(query)).first()
        if row is None or row.status in ENDED or row.batch != "running":
            return None
        values: dict[str, Any] = {
            "status": "running",
            "attempt": row.attempt + 1,
            "worker": worker,
            "started_at": now_ms(),
        }
        await connection.execute(sa.update(TRIALS).where(TRIALS.c.id == trial_id).values(**values))
        return row.attempt + 1


async def settle_trial(
    database: Database,
    connection: AsyncConnection,
    trial_id: str,
    result: Mapping[str, Any],
    journal: Sequence[Mapping[str, Any]],
    harness_version: str = "",
    attempt: int | None = None,
) -> bool:
    """Record how a trial ended. Only the first record counts; whether this was it.

    ``result`` is an ``EvalTrial`` without its trajectory, ``journal`` the trajectory. With ``attempt``, a
    worker that was thought dead and whose trial was taken from it records nothing.
    """
    if not database.sqlite:
        # The batch first, as whoever ends it does: two last trials that end at once must see each other.
        batch_id = sa.select(TRIALS.c.batch_id).where(TRIALS.c.id == trial_id).scalar_subquery()
        await connection.execute(sa.select(BATCHES.c.id).where(BATCHES.c.id == batch_id).with_for_update())
    mine = sa.true() if attempt is None else TRIALS.c.attempt == attempt
    changed = await connection.execute(
        sa.update(TRIALS)
        .where(TRIALS.c.id == trial_id, TRIALS.c.status.not_in(ENDED), mine)
        .values(
            status=result["status"], commands=result["commands"], costs=result["costs"],
            result_z=squeeze(result), journal_z=squeeze(list(journal)), finished_at=now_ms(),
            **_began(result),
        )
    )  # fmt: skip
    if not changed.rowcount:
        return False
    await connection.execute(sa.delete(CHECKPOINTS).where(CHECKPOINTS.c.trial_id == trial_id))
    query = sa.select(TRIALS.c.run_id, TRIALS.c.batch_id).where(TRIALS.c.id == trial_id)
    row = (await connection.execute(query)).one()
    if harness_version:
        known = RUNS.c.harness_version == ""
        await connection.execute(
            sa.update(RUNS).where(RUNS.c.id == row.run_id, known).values(harness_version=harness_version)
        )
    await _roll_up(connection, row.run_id, row.batch_id)
    return True


def _began(result: Mapping[str, Any]) -> dict[str, Any]:
    """When a trial began that another machine ran and reports at its end."""
    took = result["modelMs"] + result["sandboxMs"]
    return {"started_at": sa.func.coalesce(TRIALS.c.started_at, now_ms() - took)} if took else {}


async def _roll_up(connection: AsyncConnection, run_id: str, batch_id: str) -> None:
    """Close the run and the batch when nothing of them is left, and keep the batch's counts true."""
    run_counts = await _counts(connection, TRIALS.c.run_id == run_id)
    if not run_counts["open"]:
        await connection.execute(
            sa.update(RUNS)
            .where(RUNS.c.id == run_id, RUNS.c.status == "running")
            .values(status="finished", finished_at=now_ms())
        )
    await _count(connection, batch_id)


async def _count(connection: AsyncConnection, batch_id: str) -> None:
    counts = await _counts(connection, TRIALS.c.batch_id == batch_id)
    values: dict[str, Any] = {
        "passed": counts["passed"],
        "scored": counts["passed"] + counts["failed"],
        "voided": counts["void"],
    }
    await connection.execute(sa.update(BATCHES).where(BATCHES.c.id == batch_id).values(**values))


async def close_if_done(connection: AsyncConnection, batch_id: str) -> bool:
    """Finish a batch whose trials have all ended; whether it is over."""
    counts = await _counts(connection, TRIALS.c.batch_id == batch_id)
    if counts["open"]:
        return False
    await connection.execute(
        sa.update(BATCHES)
        .where(BATCHES.c.id == batch_id, BATCHES.c.status == "running")
        .values(status="finished", finished_at=now_ms())
    )
    return True


async def _counts(connection: AsyncConnection, where: sa.ColumnElement[bool]) -> dict[str, int]:
    query = sa.select(TRIALS.c.status, sa.func.count()).where(where).group_by(TRIALS.c.status)
    found = {status: count for status, count in (await connection.execute(query)).all()}
    counts = {status: found.get(status, 0) for status in ENDED}
    return {**counts, "open": sum(found.values()) - sum(counts.values())}


async def end_early(database: Database, connection: AsyncConnection, batch_id: str, failure: str) -> bool:
    """The batch is failed for ``failure``, and what had not ended is void; whether it was still running."""
    changed = await connection.execute(
        sa.update(BATCHES)
        .where(BATCHES.c.id == batch_id, BATCHES.c.status == "running")
        .values(status="failed", failure=failure, finished_at=now_ms())
    )
    if not changed.rowcount:
        return False
    query = sa.select(TRIALS.c.id, TRIALS.c.ordinal).where(
        TRIALS.c.batch_id == batch_id, TRIALS.c.status.not_in(ENDED)
    )
    left = (await connection.execute(query)).all()
    if left:
        still_open = [TRIALS.c.status != status for status in ENDED]
        voided = sa.update(TRIALS).where(TRIALS.c.id == sa.bindparam("row"), *still_open)
        nothing = {"status": "void", "commands": 0, "journal_z": squeeze([]), "finished_at": now_ms()}
        results = [
            {"row": row.id, "result_z": squeeze(blank_trial(row.id, row.ordinal, "void", failure)), **nothing}
            for row in left
        ]
        await connection.execute(voided, results)
        of_batch = sa.select(TRIALS.c.id).where(TRIALS.c.batch_id == batch_id)
        await connection.execute(sa.delete(CHECKPOINTS).where(CHECKPOINTS.c.trial_id.in_(of_batch)))
    await _count(connection, batch_id)
    await connection.execute(
        sa.update(RUNS)
        .where(RUNS.c.batch_id == batch_id, RUNS.c.status == "running")
        .values(status="failed", finished_at=now_ms())
    )
    return True


def blank_trial(trial_id: str, ordinal: int, status: str, failure: str | None = None) -> dict[str, Any]:
    """``EvalTrial`` of a trial about which nothing is known but its status."""
    return {
        "artifacts": [], "commands": 0, "costs": None, "exitCode": 0 if failure is None else -1,
        "failedCommands": 0, "failure": failure, "filesChanged": [], "id": trial_id, "modelMs": 0,
        "ordinal": ordinal, "sandboxId": None, "sandboxMs": 0, "status": status, "timed": False,
        "usage": None, "validations": [], "verifySteps": [], "voidFields": [],
    }  # fmt: skip


async def local_batch(connection: AsyncConnection, org_id: str, batch_id: str) -> None:
    """Check that a batch is this organization's, runs on its owner's machine and is open.

    404 when it is not there, 409 when it has ended, with why.
    """
    query = sa.select(BATCHES.c.status, BATCHES.c.local, BATCHES.c.failure).where(
        BATCHES.c.id == batch_id, BATCHES.c.org_id == org_id
    )
    row = (await connection.execute(query)).first()
    if row is None or not row.local:
        raise not_found(f'local batch "{batch_id}"')
    if row.status != "running":
        raise conflict(row.failure or f"the batch has already {row.status}")


async def seen(connection: AsyncConnection, batch_id: str) -> None:
    """The machine that runs a batch is still there."""
    await connection.execute(sa.update(BATCHES).where(BATCHES.c.id == batch_id).values(seen_at=now_ms()))
