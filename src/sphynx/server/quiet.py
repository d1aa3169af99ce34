"""Local batches whose machine has gone quiet are failed."""

from __future__ import annotations

import logging

import anyio
import sqlalchemy as sa

from sphynx.server.identifiers import now_ms
from sphynx.server.store import batches
from sphynx.server.store.database import Database
from sphynx.server.store.tables import BATCHES

EVERY_S = 60.0
QUIET_MS = 10 * 60_000
SILENT_MS = 6 * 3_600_000
"""A batch whose runner never said that it checks in may be quiet for longer."""
FAILURE = "The machine that ran this batch has gone quiet"


async def sweep_forever(database: Database) -> None:
    """Look once a minute; a look that fails is tried again at the next."""
    while True:
        try:
            await sweep(database)
        except Exception as error:
            logging.getLogger("sphynx.server").warning("sweep", extra={"error": type(error).__name__})
        await anyio.sleep(EVERY_S)


async def sweep(database: Database, now: int | None = None) -> int:
    """Fail every open local batch that was not heard of for too long; how many."""
    at = now_ms() if now is None else now
    quiet = sa.or_(
        sa.and_(BATCHES.c.checks_in.is_(True), BATCHES.c.seen_at < at - QUIET_MS),
        BATCHES.c.seen_at < at - SILENT_MS,
    )
    open_and_local = sa.and_(BATCHES.c.status == "running", BATCHES.c.local.is_(True))
    async with database.read() as connection:
        found = list(
            (await connection.execute(sa.select(BATCHES.c.id).where(open_and_local, quiet))).scalars()
        )
    for batch_id in found:
        async with database.write() as connection:
            await batches.end_early(database, connection, batch_id, FAILURE)
    return len(found)
