"""Bring a store's tables to what this version expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext

from sphynx.server.store.database import sync_engine
from sphynx.server.store.tables import METADATA

_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(url: str) -> None:
    """Run the migrations that are missing. Safe to call at every start."""
    engine = sync_engine(url, poolclass=sa.NullPool)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                # Two servers that start at once take turns.
                connection.execute(sa.text("select pg_advisory_xact_lock(4712)"))
            config = Config()
            config.set_main_option("script_location", str(_MIGRATIONS))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def differences(url: str) -> list[Any]:
    """What the tables of a store lack or have beyond this version's; empty after ``migrate``."""
    engine = sync_engine(url, poolclass=sa.NullPool)
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"include_object": ours})
            return compare_metadata(context, METADATA)
    finally:
        engine.dispose()


def ours(item: Any, name: str | None, kind: str, reflected: bool, compare_to: Any) -> bool:
    """Whether something found in the database is ours: the workflow engine keeps tables there too."""
    return kind != "table" or not reflected or name in METADATA.tables
