"""Runs the migrations on the connection ``sphynx.server.store.migrate`` opened."""

from __future__ import annotations

from alembic import context

from sphynx.server.store.migrate import ours
from sphynx.server.store.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, include_object=ours, render_as_batch=True)
context.run_migrations()
