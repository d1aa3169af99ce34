"""What reading costs: long journals are not touched by what does not show them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from server.running import make_key
from sphynx.schema.wire import ListCasesRequest
from sphynx.server.definitions import Definition
from sphynx.server.identifiers import now_ms
from sphynx.server.store import accounts, batches, catalog, histories, results
from sphynx.server.store.batches import NewBatch, VariantToRun
from sphynx.server.store.database import Database, sqlite_url
from sphynx.server.store.migrate import migrate
from sphynx.server.store.tables import TRIALS

IDENTITY = {"harness": "command", "model": "m", "sandbox": "local", "profile": "", "user_model": ""}
TEXT = "".join(map(chr, range(33, 126))) * 40
LONG = [{"_tag": "message", "finishedAtMillis": n, "text": f"{n} {TEXT}"} for n in range(200)]


async def stored(database: Database) -> tuple[str, str]:
    """A batch of 100 trials of which each has a journal of 700 kB."""
    async with database.write() as connection:
        org = await accounts.org_id_of(connection, "long")
        at = now_ms()
        await catalog.keep_suite(database, connection, org, "s", "s", at)
        suite = {"id": "s", "name": "s", "prompt": "p", "source": None}
        case = {"suite": suite, "case": {"id": "c"}, "prompt": "p", "source": {"kind": "empty"}, "hashed": {}}
        definition = Definition("c", "c", [], "h" * 32, case)
        await catalog.keep_case(database, connection, org, definition, None, at)
        variant = VariantToRun(await catalog.keep_variant(connection, org, IDENTITY), "", None)
        started = await batches.create(
            connection, NewBatch(org, "s", [definition] * 10, {"c": [variant]}, 10)
        )
        for row in (await connection.execute(sa.select(TRIALS.c.id, TRIALS.c.ordinal))).all():
            trial = batches.blank_trial(row.id, row.ordinal, "passed")
            await batches.settle_trial(database, connection, row.id, trial, LONG)
    return org, started["id"]


@pytest.mark.server
@pytest.mark.anyio
async def test_a_batch_of_100_long_trials_is_listed_in_milliseconds(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "long.db")
    migrate(url)
    await make_key(url, "long")
    database = Database(url)
    org, batch = await stored(database)

    async def quickest(read: Any, times: int = 7) -> float:
        best = 60.0
        for _ in range(times):
            begun = time.perf_counter()
            async with database.read() as connection:
                await read(connection)
            best = min(best, time.perf_counter() - begun)
        return best * 1000

    took = {
        "list": await quickest(lambda c: results.list_batches(c, org, None, 20)),
        "poll": await quickest(lambda c: results.version(c, org, batch)),
        "page": await quickest(lambda c: results.batch(c, org, batch, journals=False)),
        "cases": await quickest(lambda c: histories.list_cases(c, org, ListCasesRequest())),
        "whole": await quickest(lambda c: results.batch(c, org, batch), 1),
    }
    await database.aclose()
    print({name: round(ms, 1) for name, ms in took.items()})
    assert took["list"] < 15
    assert took["poll"] < 15
    assert took["cases"] < 40
    assert took["page"] < 150
    assert took["list"] < took["whole"] / 10
