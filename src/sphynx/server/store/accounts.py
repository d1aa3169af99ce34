"""Organizations and their API keys. A key is shown once; what is stored is its hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.errors import UsageError
from sphynx.schema.wire import Permission
from sphynx.server.identifiers import new_id, now_ms
from sphynx.server.store.tables import API_KEYS, ORGS

PREFIX = "anp_"
START = 8
PERMISSIONS: tuple[str, ...] = get_args(Permission)
_NOT_FOR_KEYS = ("platform:impersonate",)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: an organization by one of its keys."""

    org_id: str
    org_name: str
    org_slug: str
    key_id: str
    key_name: str
    key_start: str
    permissions: frozenset[str]

    def may(self, permission: str | None) -> bool:
        """Whether the key allows it; writing implies reading."""
        if permission is None or permission in self.permissions:
            return True
        area, _, verb = permission.partition(":")
        return verb == "read" and f"{area}:write" in self.permissions


async def create_org(connection: AsyncConnection, slug: str, name: str | None = None) -> str:
    """A new organization; its id. ``UsageError`` for a slug that is taken or none."""
    if _SLUG.fullmatch(slug) is None or len(slug) > 100:
        raise UsageError(f"{slug!r} is no slug", hint="small letters, digits and hyphens, like my-team")
    if (await connection.execute(sa.select(ORGS.c.id).where(ORGS.c.slug == slug))).first():
        raise UsageError(f'there is an organization "{slug}" already')
    org_id = new_id("org")
    values = {"id": org_id, "name": name or slug, "slug": slug, "created_at": now_ms()}
    await connection.execute(sa.insert(ORGS).values(**values))
    return org_id


async def org_id_of(connection: AsyncConnection, slug: str) -> str:
    """The id of an organization by its slug; ``UsageError`` with those there are."""
    rows = (await connection.execute(sa.select(ORGS.c.slug, ORGS.c.id).order_by(ORGS.c.slug))).all()
    found = {row.slug: row.id for row in rows}
    if slug not in found:
        known = ", ".join(found) or "none: sphynx admin create-org makes one"
        raise UsageError(f'there is no organization "{slug}"', hint=f"there are: {known}")
    return found[slug]


async def any_org(connection: AsyncConnection) -> bool:
    """Whether there is any organization yet."""
    return (await connection.execute(sa.select(ORGS.c.id).limit(1))).first() is not None


async def create_key(
    connection: AsyncConnection,
    org_id: str,
    name: str,
    permissions: list[str] | None = None,
    expires_at: int | None = None,
) -> str:
    """A new key with all permissions unless some are named. The only time it can be seen."""
    wanted = permissions or [one for one in PERMISSIONS if one not in _NOT_FOR_KEYS]
    unknown = [one for one in wanted if one not in PERMISSIONS or one in _NOT_FOR_KEYS]
    if unknown:
        raise UsageError(f"no such permission: {unknown[0]}", hint=", ".join(PERMISSIONS))
    key = PREFIX + secrets.token_urlsafe(32)
    await connection.execute(
        sa.insert(API_KEYS).values(
            id=new_id("key"), org_id=org_id, name=name, start=key[:START], hash=_hash(key),
            permissions=wanted, created_at=now_ms(), expires_at=expires_at,
        )
    )  # fmt: skip
    return key


async def list_keys(connection: AsyncConnection, org_id: str | None = None) -> list[dict[str, Any]]:
    """Keys as they may be shown, oldest first."""
    query = (
        sa.select(API_KEYS, ORGS.c.slug)
        .join(ORGS, ORGS.c.id == API_KEYS.c.org_id)
        .order_by(API_KEYS.c.created_at)
    )
    if org_id is not None:
        query = query.where(API_KEYS.c.org_id == org_id)
    rows = (await connection.execute(query)).mappings().all()
    shown = ("id", "name", "start", "slug", "permissions", "created_at", "expires_at", "revoked_at")
    return [{name: row[name] for name in shown} for row in rows]


async def revoke_key(connection: AsyncConnection, key_id: str) -> None:
    """The key stops working. ``UsageError`` when there is none of that id."""
    changed = await connection.execute(
        sa.update(API_KEYS)
        .where(API_KEYS.c.id == key_id, API_KEYS.c.revoked_at.is_(None))
        .values(revoked_at=now_ms())
    )
    if not changed.rowcount:
        raise UsageError(f'there is no working key "{key_id}"', hint="sphynx admin list-keys shows the ids")


async def actor_of(connection: AsyncConnection, key: str) -> Actor | None:
    """Who a key acts for; ``None`` for one that is unknown, revoked or too old."""
    query = (
        sa.select(API_KEYS, ORGS.c.name.label("org_name"), ORGS.c.slug)
        .join(ORGS, ORGS.c.id == API_KEYS.c.org_id)
        .where(API_KEYS.c.hash == _hash(key), API_KEYS.c.revoked_at.is_(None))
    )
    row = (await connection.execute(query)).mappings().first()
    if row is None or (row["expires_at"] is not None and row["expires_at"] <= now_ms()):
        return None
    return Actor(
        org_id=row["org_id"], org_name=row["org_name"], org_slug=row["slug"], key_id=row["id"],
        key_name=row["name"], key_start=row["start"], permissions=frozenset(row["permissions"]),
    )  # fmt: skip


async def key_works(connection: AsyncConnection, key_id: str) -> bool:
    """Whether a key is still good."""
    query = sa.select(API_KEYS.c.expires_at).where(API_KEYS.c.id == key_id, API_KEYS.c.revoked_at.is_(None))
    row = (await connection.execute(query)).first()
    return row is not None and (row.expires_at is None or row.expires_at > now_ms())


def _hash(key: str) -> str:
    # 256 random bits cannot be guessed, so one round is enough and each request stays cheap.
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
