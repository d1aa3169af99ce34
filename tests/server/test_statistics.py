"""How trials did over time, on both stores, through the client and on the command line."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from server.running import Running, running
from server.test_api import COMMAND, local
from server.whole import SPHYNX, clean_env
from sphynx.server.identifiers import now_ms
from sphynx.server.store.database import Database
from sphynx.server.store.statistics import DAY_MS
from sphynx.server.store.tables import RUNS

CASES = [{"id": name, "variables": {"task": "t"}, "verify": "true"} for name in ("one", "two")]
MODEL = {**COMMAND, "model": "gpt-5.4-mini"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("statistics"), database_url=database_url) as told:
        yield told


def reported(server: Running, key: str, statuses: list[str], **more: Any) -> list[str]:
    """A batch with one run per case, each with trials that ended like this; the ids of its runs."""
    request = local(cases=CASES, variants=[MODEL], trials=len(statuses), **more)
    started = server.post("runner.start", request, key=key).json()
    usage = {"inputTokens": 1_000_000, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0,
             "totalTokens": 1_000_000}  # fmt: skip
    for run in started["runs"]:
        for ordinal, status in enumerate(statuses, 1):
            outcome = {"artifacts": [], "commandCount": 1, "exitCode": 0, "modelMs": 3_000,
                       "sandboxMs": 1_000, "status": status, "verifySteps": [], "voidFields": []}  # fmt: skip
            report = {"events": [], "ordinal": ordinal, "runId": run["id"], "usage": usage,
                      "outcome": outcome}  # fmt: skip
            assert server.post("runner.report", report, key=key).status_code == 204
    server.post("runner.finish", {"id": started["id"]}, key=key)
    return [run["id"] for run in started["runs"]]


def earlier(server: Running, run_ids: list[str], days: int) -> None:
    """Move runs into the past."""

    async def move() -> None:
        database = Database(server.database_url)
        async with database.write() as connection:
            moved = sa.update(RUNS).where(RUNS.c.id.in_(run_ids)).values(started_at=now_ms() - days * DAY_MS)
            await connection.execute(moved)
        await database.aclose()

    asyncio.run(move())


def test_trials_are_counted_by_suite_case_and_variant_and_by_day(server: Running) -> None:
    key = server.new_org("counted")
    earlier(server, reported(server, key, ["passed", "failed", "void"]), 9)
    reported(server, key, ["passed", "passed"])
    with server.client(key) as client:
        get = client.evals.statistics.get
        days = get(by="suite").rows
        assert [(row.id, row.runs, row.trials, row.passed, row.scored, row.voided) for row in days] == [
            ("smoke", 2, 4, 4, 4, 0), ("smoke", 2, 6, 2, 4, 2),
        ]  # fmt: skip
        assert [row.pass_rate for row in days] == [1.0, 0.5]
        assert (days[0].from_ - days[1].from_).days == 9
        assert all((row.from_.hour, row.from_.minute) == (0, 0) for row in days)
        assert all(3_900 <= (row.mean_duration_ms or 0) <= 4_100 for row in days)
        assert days[0].usd == pytest.approx(4 * (days[0].usd or 0) / 4) and (days[0].usd or 0) > 0.1
        weeks = get(by="suite", every="week").rows
        assert {row.from_.weekday() for row in weeks} == {0}
        assert sum(row.trials for row in weeks) == 10
        assert [(row.id, row.name, row.trials) for row in get(by="case", every="all").rows] == [
            ("one", "one", 5), ("two", "two", 5),
        ]  # fmt: skip
        (variant,) = get(by="variant", every="all", case="one").rows
        assert (variant.name, variant.trials) == ("command/gpt-5.4-mini@mine", 5)
        assert variant.variant is not None and variant.variant.id == variant.id
        assert [row.trials for row in get(by="suite", days=3).rows] == [4]
        assert get(by="suite", suite="other").rows == []
    with server.client(server.new_org("counts-nothing")) as client:
        assert client.evals.statistics.get(by="variant").rows == []


def test_the_command_line_prints_them_in_columns(server: Running, tmp_path: Any) -> None:
    key = server.new_org("printed")
    reported(server, key, ["passed", "failed"])
    env = {**clean_env(tmp_path), "SPHYNX_API_KEY": key, "SPHYNX_BASE_URL": server.url}
    done = subprocess.run(
        [SPHYNX, "statistics", "--by", "case"], env=env, cwd=os.fspath(tmp_path), text=True,
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = [line.split("\t") for line in done.stdout.splitlines()]
    assert [cell[1:5] for cell in cells] == [[name, "1/2", "50%", "0 void"] for name in ("one", "two")]
