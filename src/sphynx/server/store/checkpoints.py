"""Where trials may be gone on from when their worker is lost. Only a trial's newest attempt writes here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.server.store.database import Database
from sphynx.server.store.tables import CHECKPOINTS, ENDED, TRIALS


async def keep(
    database: Database,
    connection: AsyncConnection,
    trial_id: str,
    attempt: int,
    *,
    sandbox_id: str | None,
    state_z: bytes | None,
    why_not: str,
) -> bool:
    """Write a trial's checkpoint, or without a state why it has none; whether it is still this attempt's."""
    mine = sa.and_(TRIALS.c.id == trial_id, TRIALS.c.attempt == attempt, TRIALS.c.status.not_in(ENDED))
    # The row is held until the checkpoint is there, so that no later attempt begins in between.
    held = await connection.execute(sa.update(TRIALS).where(mine).values(worker=TRIALS.c.worker))
    if not held.rowcount:
        return False
    values = {"trial_id": trial_id, "sandbox_id": sandbox_id, "state_z": state_z, "why_not": why_not}
    await database.upsert(connection, CHECKPOINTS, values, ("sandbox_id", "state_z", "why_not"))
    return True


async def left(connection: AsyncConnection, trial_id: str) -> Any:
    """The row of a trial; ``None`` when there is none."""
    query = sa.select(CHECKPOINTS).where(CHECKPOINTS.c.trial_id == trial_id)
    return (await connection.execute(query)).first()


async def wanted(connection: AsyncConnection, sandbox_ids: Collection[str]) -> set[str]:
    """Those of some sandboxes in which a trial may be gone on with."""
    query = (
        sa.select(CHECKPOINTS.c.sandbox_id)
        .join(TRIALS, TRIALS.c.id == CHECKPOINTS.c.trial_id)
        .where(CHECKPOINTS.c.sandbox_id.in_(sandbox_ids), TRIALS.c.status.not_in(ENDED))
    )
    return set((await connection.execute(query)).scalars())


async def is_taken(connection: AsyncConnection, trial_id: str, attempt: int, sandbox_id: str) -> bool:
    """Whether an attempt after this one goes on with the trial in this sandbox."""
    query = (
        sa.select(sa.func.count())
        .select_from(CHECKPOINTS)
        .join(TRIALS, TRIALS.c.id == CHECKPOINTS.c.trial_id)
        .where(
            TRIALS.c.id == trial_id, TRIALS.c.attempt > attempt, TRIALS.c.status.not_in(ENDED),
            CHECKPOINTS.c.sandbox_id == sandbox_id,
        )
    )  # fmt: skip
    return bool((await connection.execute(query)).scalar_one())
