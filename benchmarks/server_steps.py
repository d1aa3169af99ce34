"""Durable trials a second, beside bare committed inserts into the same database, for ``server.py``.

    python benchmarks/server_steps.py URL TRIALS

Prints as JSON how many trials, each a workflow of one remembered step that does nothing, the engine carries
through in a second, and how many rows a second are inserted one transaction at a time.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

import sqlalchemy as sa

from sphynx.server.execution.durable import Durable, Planned, executor_id
from sphynx.server.store.database import Database


async def durable(url: str, trials: int) -> float:
    """Seconds from handing a batch over to its end, after a small one that warms everything up."""
    ended: dict[str, asyncio.Event] = {"warm-5": asyncio.Event(), f"batch-{trials}": asyncio.Event()}

    async def run(trial_id: str) -> str:
        return "passed"

    async def plan(batch_id: str) -> list[Planned]:
        return [(f"{batch_id}-{number}", "", 1) for number in range(int(batch_id.rpartition("-")[2]))]

    async def close(batch_id: str) -> bool:
        ended[batch_id].set()
        return True

    engine = Durable(url, executor_id(), jobs=100, run_trial=run, plan=plan, close=close)
    await engine.launch()
    seconds = 0.0
    for batch_id, event in ended.items():
        begun = time.perf_counter()
        await engine.enqueue(batch_id)
        await asyncio.wait_for(event.wait(), 120)
        seconds = time.perf_counter() - begun
    return seconds


async def inserts(url: str, count: int) -> float:
    """Seconds for ``count`` rows, each in a transaction of its own."""
    database = Database(url)
    async with database.write() as connection:
        await connection.execute(sa.text("create table bare_steps (id integer primary key, word text)"))
    begun = time.perf_counter()
    for number in range(count):
        async with database.write() as connection:
            values = {"id": number}
            await connection.execute(sa.text("insert into bare_steps values (:id, 'passed')"), values)
    seconds = time.perf_counter() - begun
    await database.aclose()
    return seconds


async def main() -> None:
    url, trials = sys.argv[1], int(sys.argv[2])
    bare = trials / await inserts(url, trials)
    print(json.dumps({"trials": trials / await durable(url, trials), "inserts": bare}), flush=True)
    # The engine's own threads need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
