"""Everything a store holds, in the form a thief would read it: decompressed, decoded, unpickled."""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa


def everything_stored(database: Path | str) -> list[str]:
    """Every value of every table of a SQLite file or a Postgres address, the workflow engine's too."""
    url = f"sqlite:///{database}" if isinstance(database, Path) else sa.make_url(database)
    if not isinstance(database, Path):
        url = sa.make_url(database).set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    found: list[str] = []
    seen: set[str] = set()
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        for schema in inspector.get_schema_names():
            if schema in ("information_schema", "pg_catalog"):
                continue
            for name in inspector.get_table_names(schema=schema):
                seen.add(name)
                whole = sa.text(f'select * from "{schema}"."{name}"')
                for row in connection.execute(whole):
                    found += [text for value in row for text in _texts(value)]
    engine.dispose()
    assert "workflow_status" in seen
    return found


def _texts(value: Any) -> Iterator[str]:
    """A value as text, and as what it may have been made from."""
    raw = bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode("utf-8", "replace")
    yield raw.decode("utf-8", "replace")
    for decode in (zlib.decompress, _base64, _msgpack, _pickle, lambda raw: _pickle(_base64(raw))):
        with suppress(zlib.error, binascii.Error, ValueError, msgspec.DecodeError):
            yield decode(raw).decode("utf-8", "replace")


def _base64(raw: bytes) -> bytes:
    if len(raw) < 16:
        raise ValueError
    return base64.b64decode(raw, validate=True)


def _msgpack(raw: bytes) -> bytes:
    return str(msgspec.msgpack.decode(raw)).encode("utf-8", "replace")


def _pickle(raw: bytes) -> bytes:
    """Pickled data names its strings as they are; nothing is run to see them."""
    if raw[:1] != b"\x80":
        raise ValueError
    said = [str(argument) for _, argument, _ in pickletools.genops(raw)]
    return " ".join(said).encode("utf-8", "replace")
