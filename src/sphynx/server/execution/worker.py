"""A worker process: takes batches and trials, says that it lives, and puts back what dead workers had.

It is started with a JSON object on its standard input (see ``Orders``), which stays open: when it ends, so
does the worker, so that no worker outlives its server.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic

import anyio
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from sphynx.sandboxes import bubblewrap
from sphynx.sandboxes.docker import options as container_options
from sphynx.sandboxes.docker.options import ContainerOptions
from sphynx.server.execution.containers import Containers
from sphynx.server.execution.durable import Durable, Planned, executor_id
from sphynx.server.execution.limits import limits_from
from sphynx.server.execution.machine import TrialRunner
from sphynx.server.logs import to_stderr
from sphynx.server.store import batches
from sphynx.server.store.database import Database
from sphynx.server.store.tables import BATCHES, ENDED, RUNS, TRIALS, VARIANTS, WORKERS
from sphynx.server.vault import open_vault

BEAT_S = 2.0
PLACES = 100
"""More than a run has trials: a batch that goes first goes first with all of them."""
DEAD_S = 15.0
_LOOK_S = 0.3
_CLOSE_S = 8.0
_TIDY_S = 30.0
_FORGET_MS = 3_600_000
_TRUST_S = 3 * BEAT_S
"""How long the others may take to say that they live, once this worker is up or the database is back."""
_LOG = logging.getLogger("sphynx.worker")


@dataclass(frozen=True, slots=True)
class Orders:
    """What a worker needs to know. It may hold the database's password, so it is never an argument."""

    data: str
    database_url: str
    jobs: int
    isolate: bool = True
    containers: ContainerOptions | None = None

    @classmethod
    def decoded(cls, line: bytes) -> Orders:
        """What ``encoded`` gave."""
        value = json.loads(line)
        return cls(**{**value, "containers": container_options.from_json(value["containers"])})

    def encoded(self) -> bytes:
        """One line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


class Worker:
    """One worker, from start to stop."""

    def __init__(self, orders: Orders, environ: Mapping[str, str]) -> None:
        self.database = Database(orders.database_url)
        self.executor = executor_id()
        data = Path(orders.data)
        isolate, why = bubblewrap.available() if orders.isolate else (False, "not wanted")
        if not isolate:
            _LOG.warning("trials are not isolated", extra={"why": why})
        vault = open_vault(data, environ)
        containers = None
        if orders.containers is not None:
            containers = Containers(orders.containers, environ, data, vault, self.database)
        self.trials = TrialRunner(
            self.database, vault, data, environ, self.executor, isolate=isolate, containers=containers
        )
        self.durable = Durable(
            orders.database_url, self.executor, jobs=orders.jobs, run_trial=self.trials.run,
            plan=self._plan, close=self._close, limits=limits_from(environ),
        )  # fmt: skip
        self._stop = asyncio.Event()
        self._trusted_from = 0.0

    def stop(self) -> None:
        """No new trials; those that run are handed over."""
        self.trials.stopping = True
        self._stop.set()

    async def run(self) -> None:
        """Work until told to stop."""
        if self.database.sqlite:
            # There is one worker on a SQLite file, so whoever is listed is gone.
            async with self.database.write() as connection:
                await connection.execute(sa.delete(WORKERS))
        await self._beat()
        if not self.database.sqlite:
            self._trusted_from = monotonic() + _TRUST_S
        await self.durable.launch()
        _LOG.info("ready", extra={"worker": self.executor})
        async with anyio.create_task_group() as group:
            group.start_soon(self._again, self._beat_and_take_over, BEAT_S)
            group.start_soon(self._again, self._look, _LOOK_S)
            group.start_soon(self._again, self._tidy, _TIDY_S)
            await self._stop.wait()
            self.trials.cancel(self.trials.attempts)
            with anyio.move_on_after(_CLOSE_S):
                await self.trials.empty()
            group.cancel_scope.cancel()
        with suppress(SQLAlchemyError):  # without it, the others wait until this one is taken for dead
            async with self.database.write() as connection:
                await connection.execute(sa.delete(WORKERS).where(WORKERS.c.id == self.executor))
        await self.trials.backends.tidy(everything=True)

    async def _again(self, what: Callable[[], Awaitable[None]], seconds: float) -> None:
        failed = False
        while True:
            try:
                await what()
                failed = False
            except Exception as error:
                # A database that is away for a moment must not end the worker.
                self._trusted_from = monotonic() + _TRUST_S
                if not failed:
                    _LOG.warning("a look failed", extra={"error": type(error).__name__})
                failed = True
            await anyio.sleep(seconds)

    async def _look(self) -> None:
        """Stop trials that are no longer this worker's or whose batch is over; take batches that are new."""
        mine = self.trials.attempts
        async with self.database.read() as connection:
            new = sa.select(BATCHES.c.id).where(BATCHES.c.status == "running", BATCHES.c.enqueued.is_(False))
            waiting = list((await connection.execute(new.order_by(BATCHES.c.started_at))).scalars())
            query = (
                sa.select(TRIALS.c.id, TRIALS.c.attempt)
                .join(BATCHES, BATCHES.c.id == TRIALS.c.batch_id)
                .where(TRIALS.c.id.in_([one.trial_id for one in mine]), BATCHES.c.status == "running")
            )
            rows = (await connection.execute(query)).all() if mine else []
        still = {(row.id, row.attempt) for row in rows}
        self.trials.cancel(one for one in mine if (one.trial_id, one.number) not in still)
        for batch_id in waiting:
            await self.durable.enqueue(batch_id)
            async with self.database.write() as connection:
                await connection.execute(
                    sa.update(BATCHES).where(BATCHES.c.id == batch_id).values(enqueued=True)
                )

    async def _tidy(self) -> None:
        """Close what nobody uses, end what dead workers left here, and begin again what got lost."""
        await self.trials.backends.tidy()
        await anyio.to_thread.run_sync(self.trials.root.clear_dead_trials)
        async with self.database.read() as connection:
            query = sa.select(BATCHES.c.id).where(
                BATCHES.c.status == "running", BATCHES.c.local.is_(False), BATCHES.c.enqueued
            )
            running = list((await connection.execute(query)).scalars())
        for batch_id in await self.durable.ended(running):
            await self._begin_again(batch_id)

    async def _begin_again(self, batch_id: str) -> None:
        """A batch still runs though the engine has done with it: hand it over anew, with what is open."""
        left = [trial_id for trial_id, _, _ in await self._plan(batch_id)]
        if await self._close(batch_id):
            return
        _LOG.warning("a batch is begun again", extra={"batch": batch_id, "trials": len(left)})
        await self.durable.forget([batch_id, *left])
        async with self.database.write() as connection:
            await connection.execute(
                sa.update(BATCHES).where(BATCHES.c.id == batch_id).values(enqueued=False)
            )

    async def _beat(self) -> None:
        async with self.database.write() as connection:
            values = {"id": self.executor, "seen_at": await self._database_ms(connection)}
            await self.database.upsert(connection, WORKERS, values, ("seen_at",))

    async def _beat_and_take_over(self) -> None:
        await self._beat()
        async with self.database.write() as connection:
            if not self.database.sqlite:
                lock = sa.text("select pg_try_advisory_xact_lock(4711)")
                if not (await connection.execute(lock)).scalar():
                    return
            if monotonic() < self._trusted_from:
                return
            now = await self._database_ms(connection)
            gone = WORKERS.c.seen_at < now - _FORGET_MS
            await connection.execute(sa.delete(WORKERS).where(gone))
            alive = sa.select(WORKERS.c.id).where(WORKERS.c.seen_at > now - int(DEAD_S * 1000))
            live = set((await connection.execute(alive)).scalars())
            if self.database.sqlite:
                await connection.commit()
            taken = await self.durable.take_over(live)
        if taken:
            _LOG.warning("took over", extra={"workflows": taken})

    async def _database_ms(self, connection: object) -> int:
        clock = (
            "select (julianday('now') - 2440587.5) * 86400000.0"
            if self.database.sqlite
            else "select extract(epoch from clock_timestamp()) * 1000"
        )
        return int((await connection.execute(sa.text(clock))).scalar())  # type: ignore[attr-defined]

    async def _plan(self, batch_id: str) -> list[Planned]:
        """The trials of a batch, those with ordinal 1 first, so that every run has a result early."""
        place = BATCHES.c.priority * PLACES + TRIALS.c.ordinal
        async with self.database.read() as connection:
            query = (
                sa.select(TRIALS.c.id, VARIANTS.c.harness, place)
                .join(RUNS, RUNS.c.id == TRIALS.c.run_id)
                .join(BATCHES, BATCHES.c.id == RUNS.c.batch_id)
                .join(VARIANTS, VARIANTS.c.id == RUNS.c.variant_id)
                .where(TRIALS.c.batch_id == batch_id, TRIALS.c.status.not_in(ENDED))
                .order_by(TRIALS.c.ordinal, TRIALS.c.run_id)
            )
            return [tuple(row) for row in (await connection.execute(query)).all()]

    async def _close(self, batch_id: str) -> bool:
        async with self.database.write() as connection:
            return await batches.close_if_done(connection, batch_id)


async def work(orders: Orders, environ: Mapping[str, str], *, follow_stdin: bool) -> None:
    """Run a worker until SIGTERM, Ctrl-C, or the end of standard input."""
    worker = Worker(orders, environ)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    if follow_stdin:
        loop.add_reader(sys.stdin.fileno(), lambda: os.read(sys.stdin.fileno(), 4096) or worker.stop())
    await worker.run()
    # Trials that were handed over wait in their steps for ever; leaving must not wait for them.
    sys.stderr.flush()
    os._exit(0)


def main() -> None:
    """Entry of ``python -m sphynx.server.execution.worker``."""
    to_stderr()
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(sys.stdin.fileno(), 1)
        if not part:
            return
        line += part
    asyncio.run(work(Orders.decoded(line), dict(os.environ), follow_stdin=True))


if __name__ == "__main__":
    main()
