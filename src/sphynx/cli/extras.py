"""Is an optional part installed?"""

from __future__ import annotations

from importlib.util import find_spec

from sphynx.errors import MissingExtraError

_SERVER = ("fastapi", "uvicorn", "sqlalchemy", "aiosqlite", "alembic", "dbos", "cryptography", "psycopg")


def need_server(feature: str) -> None:
    """``MissingExtraError`` with the pip line when the extra ``server`` is not installed."""
    if any(find_spec(name) is None for name in _SERVER):
        raise MissingExtraError(feature, "server")
