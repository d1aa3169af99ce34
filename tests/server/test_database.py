"""A database that is away is told from one that cannot do what it is asked."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from sphynx.server.store.database import Database, away, patiently, sqlite_url


@pytest.mark.anyio
async def test_a_call_is_made_again_until_the_database_is_back(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    database = Database(sqlite_url(folder / "a.db"))

    async def ask() -> int:
        async with database.read() as connection:
            return (await connection.execute(sa.text("select 7"))).scalar_one()

    async with anyio.create_task_group() as group:
        group.start_soon(_made, folder)
        assert await patiently(ask) == 7
    await database.aclose()


async def _made(folder: Path) -> None:
    await anyio.sleep(0.3)
    folder.mkdir()


@pytest.mark.anyio
async def test_what_will_never_work_is_not_tried_again(tmp_path: Path) -> None:
    database = Database(sqlite_url(tmp_path / "a.db"))

    async def ask() -> None:
        async with database.read() as connection:
            await connection.execute(sa.text("select * from missing"))

    with pytest.raises(OperationalError, match="no such table"):
        await patiently(ask)
    await database.aclose()


def test_a_locked_file_is_away_for_now(tmp_path: Path) -> None:
    engine = sa.create_engine(sqlite_url(tmp_path / "a.db"), connect_args={"timeout": 0.05})
    with closing(sqlite3.connect(tmp_path / "a.db")) as holder:
        holder.execute("create table one (two)")
        holder.commit()
        holder.execute("begin exclusive")
        with pytest.raises(OperationalError) as caught, engine.begin() as connection:
            connection.execute(sa.text("insert into one values (3)"))
    assert away(caught.value)
    engine.dispose()
