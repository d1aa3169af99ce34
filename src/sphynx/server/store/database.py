"""The connection to the store: SQLite in WAL mode, or Postgres, behind the same two blocks."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from sphynx.errors import UsageError

_BUSY_MS = 30_000
_READ = {"sphynx_reads": True}
IDLE_S = 10
"""How long a process that stands still may hold locks in Postgres before they are taken from it."""
_CONNECT_S = 5
_PAUSES_S = (0.2, 0.5, 1.0, 2.0)
_CUT = ("25P03", "57P05")
_LOG = logging.getLogger("sphynx.server")
_Result = TypeVar("_Result")


class Database:
    """One store. ``url`` is a ``sqlite:///`` or ``postgresql://`` address."""

    def __init__(self, url: str) -> None:
        self.url = sa.make_url(normal(url))
        self.sqlite = self.url.get_backend_name() == "sqlite"
        driver = "sqlite+aiosqlite" if self.sqlite else "postgresql+psycopg"
        if self.sqlite:
            self.engine: AsyncEngine = create_async_engine(self.url.set(drivername=driver))
            _write_ahead(self.engine.sync_engine)
        else:
            self.engine = create_async_engine(
                self.url.set(drivername=driver), pool_size=10, max_overflow=10, pool_pre_ping=True,
                connect_args={"connect_timeout": _CONNECT_S},
            )  # fmt: skip
            _never_idle(self.engine.sync_engine)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A block that only reads."""
        async with self.engine.connect() as connection:
            yield await connection.execution_options(**_READ)

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """A transaction: all of it is kept, or nothing when the block raises."""
        async with self.engine.begin() as connection:
            yield connection

    async def upsert(
        self,
        connection: AsyncConnection,
        table: sa.Table,
        values: Mapping[str, Any],
        update: Sequence[str] = (),
    ) -> None:
        """Insert a row; where its primary key is there already, change the columns in ``update``."""
        statement: Any = (sqlite_insert if self.sqlite else postgres_insert)(table).values(**values)
        keys = [column.name for column in table.primary_key]
        if update:
            changed = {name: statement.excluded[name] for name in update}
            statement = statement.on_conflict_do_update(index_elements=keys, set_=changed)
        else:
            statement = statement.on_conflict_do_nothing()
        await connection.execute(statement)

    async def aclose(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


def away(error: BaseException) -> bool:
    """Whether an error says that the database does not answer now, or has cut the connection."""
    if isinstance(error, exc.TimeoutError):
        return True
    if isinstance(error, exc.OperationalError | exc.InterfaceError):
        # SQLite calls a statement it does not understand an operational error too, and that will not pass.
        return getattr(error.orig, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR
    cut = isinstance(error, exc.DBAPIError) and getattr(error.orig, "sqlstate", None) in _CUT
    return cut or getattr(error, "connection_invalidated", False)


async def patiently(call: Callable[[], Awaitable[_Result]]) -> _Result:
    """The result of ``call``, which is made again until the database is back.

    What it does has to be the same done twice: a connection can be lost after a commit.
    """
    tries = 0
    while True:
        try:
            return await call()
        except exc.SQLAlchemyError as error:
            if not away(error):
                raise
            if not tries:
                _LOG.warning("the database is away", extra={"error": type(error).__name__})
        await anyio.sleep(_PAUSES_S[min(tries, len(_PAUSES_S) - 1)])
        tries += 1


def normal(url: str) -> str:
    """An address with the driver left out; ``UsageError`` for a database this cannot use."""
    try:
        parsed = sa.make_url(url)
    except exc.ArgumentError:
        raise UsageError("--database-url is not a database address", hint="postgresql://...") from None
    backend = {"postgres": "postgresql"}.get(parsed.get_backend_name(), parsed.get_backend_name())
    if backend not in ("sqlite", "postgresql"):
        raise UsageError(f"--database-url: {backend} is not supported", hint="use postgresql://...")
    return parsed.set(drivername=backend).render_as_string(hide_password=False)


def sqlite_url(path: Path) -> str:
    """The address of a SQLite file."""
    return f"sqlite:///{path}"


def sync_engine(url: str, **options: Any) -> sa.Engine:
    """A plain engine on the same store, for migrations and for the workflow engine's own tables."""
    parsed = sa.make_url(normal(url))
    if parsed.get_backend_name() == "sqlite":
        engine = sa.create_engine(parsed, **options)
        event.listen(engine, "connect", _pragmas)
        return engine
    return sa.create_engine(parsed.set(drivername="postgresql+psycopg"), **options)


def _pragmas(connection: Any, record: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _never_idle(engine: sa.Engine) -> None:
    def connect(connection: Any, record: Any) -> None:
        # A process that was stopped inside a transaction must not keep others from its rows for ever.
        cursor = connection.cursor()
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_S}s'")
        cursor.close()
        connection.commit()

    event.listen(engine, "connect", connect)


def _write_ahead(engine: sa.Engine) -> None:
    def connect(connection: Any, record: Any) -> None:
        # The driver would begin transactions late, and two that then want to write could not both go on.
        connection.isolation_level = None
        _pragmas(connection, record)

    def begin(connection: sa.Connection) -> None:
        reads = connection.get_execution_options().get("sphynx_reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)
