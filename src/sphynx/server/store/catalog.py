"""Suites, cases with their versions, variants and profiles: what batches are made of and leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.schema.definition import changes
from sphynx.server.definitions import Definition
from sphynx.server.identifiers import new_id
from sphynx.server.store.database import Database
from sphynx.server.store.tables import (
    BUNDLES,
    CASE_VERSIONS,
    CASES,
    PROFILES,
    SUITES,
    VARIANTS,
    expand,
    squeeze,
)


async def keep_suite(
    database: Database, connection: AsyncConnection, org_id: str, suite_id: str, name: str, at: int
) -> None:
    """The suite ran: remember its name and when."""
    values = {"org_id": org_id, "id": suite_id, "name": name, "created_at": at, "last_run_at": at}
    await database.upsert(connection, SUITES, values, ("name", "last_run_at"))


async def keep_case(
    database: Database,
    connection: AsyncConnection,
    org_id: str,
    definition: Definition,
    author: str | None,
    at: int,
) -> None:
    """Register a case; a definition it has not had before becomes its new version, with what changed."""
    query = sa.select(CASES.c.definition_hash).where(
        CASES.c.org_id == org_id, CASES.c.id == definition.case_id
    )
    before = (await connection.execute(query)).scalar_one_or_none()
    changed: list[str] = []
    if before is not None and before != definition.hash:
        old = await definition_of(connection, org_id, definition.case_id, before)
        changed = changes((old or {}).get("hashed", {}), definition.stored["hashed"])
    await database.upsert(
        connection,
        CASES,
        {
            "org_id": org_id,
            "id": definition.case_id,
            "suite_id": definition.stored["suite"]["id"],
            "name": definition.name,
            "tags": definition.tags,
            "definition_hash": definition.hash,
            "created_at": at,
            "last_run_at": at,
        },
        ("suite_id", "name", "tags", "definition_hash", "last_run_at"),
    )
    await database.upsert(
        connection,
        CASE_VERSIONS,
        {
            "org_id": org_id,
            "case_id": definition.case_id,
            "definition_hash": definition.hash,
            "author": author,
            "changes": changed,
            "definition_z": squeeze(definition.stored),
            "created_at": at,
        },
        ("definition_z",),
    )


async def definition_of(
    connection: AsyncConnection, org_id: str, case_id: str, definition_hash: str
) -> dict[str, Any] | None:
    """A stored definition."""
    query = sa.select(CASE_VERSIONS.c.definition_z).where(
        CASE_VERSIONS.c.org_id == org_id,
        CASE_VERSIONS.c.case_id == case_id,
        CASE_VERSIONS.c.definition_hash == definition_hash,
    )
    return expand((await connection.execute(query)).scalar_one_or_none())


async def keep_variant(connection: AsyncConnection, org_id: str, identity: Mapping[str, str]) -> str:
    """The id of a variant, which is made when it is new. ``identity`` has its five parts."""
    query = sa.select(VARIANTS.c.id).where(
        VARIANTS.c.org_id == org_id, *(VARIANTS.c[name] == value for name, value in identity.items())
    )
    found = (await connection.execute(query)).scalar_one_or_none()
    if found is not None:
        return found
    variant_id = new_id("evv")
    await connection.execute(sa.insert(VARIANTS).values(id=variant_id, org_id=org_id, **identity))
    return variant_id


async def keep_profile(
    database: Database, connection: AsyncConnection, org_id: str, version: str, profile: Mapping[str, Any]
) -> None:
    """Store a profile once per version."""
    values = {"org_id": org_id, "version": version, "profile_z": squeeze(profile)}
    await database.upsert(connection, PROFILES, values)


async def profile_of(connection: AsyncConnection, org_id: str, version: str) -> dict[str, Any]:
    """A stored profile in its wire form."""
    query = sa.select(PROFILES.c.profile_z).where(PROFILES.c.org_id == org_id, PROFILES.c.version == version)
    return expand((await connection.execute(query)).scalar_one())


async def keep_bundles(
    database: Database, connection: AsyncConnection, org_id: str, bundles: Mapping[str, bytes]
) -> None:
    """Store packed bundles once per digest."""
    for digest, packed in bundles.items():
        await database.upsert(connection, BUNDLES, {"org_id": org_id, "digest": digest, "packed": packed})


async def bundle_of(connection: AsyncConnection, org_id: str, digest: str) -> bytes:
    """A packed bundle."""
    query = sa.select(BUNDLES.c.packed).where(BUNDLES.c.org_id == org_id, BUNDLES.c.digest == digest)
    return (await connection.execute(query)).scalar_one()
