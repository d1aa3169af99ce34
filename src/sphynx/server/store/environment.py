"""The environment store: variables and subscriptions, sealed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.server.identifiers import iso, iso_or_none, new_id, now_ms
from sphynx.server.refusals import not_found
from sphynx.server.store.tables import SUBSCRIPTIONS, VARIABLES
from sphynx.server.vault import SealedError, Vault, place
from sphynx.settings.names import preview

SCOPE = "organization"
_LOG = logging.getLogger("sphynx.server")


async def set_variables(
    connection: AsyncConnection, org_id: str, variables: Sequence[Mapping[str, Any]], vault: Vault
) -> list[dict[str, Any]]:
    """Store values. The answer lists replaced ones first, then new ones, each in the given order."""
    names = [variable["name"] for variable in variables]
    there = {row["name"]: row for row in await _rows(connection, org_id, names)}
    replaced, new = [], []
    for variable in variables:
        name, value, secret = variable["name"], variable["value"], variable["secret"]
        at = now_ms()
        fields = {
            "secret": secret,
            "preview": preview(value, secret=secret),
            "sealed": vault.seal(value, place(org_id, SCOPE, name)),
            "updated_at": at,
        }
        old = there.get(name)
        if old is None:
            row = {
                "id": new_id("var"), "org_id": org_id, "scope": SCOPE, "name": name, "revision": 1,
                "created_at": at, "last_used_at": None, **fields,
            }  # fmt: skip
            await connection.execute(sa.insert(VARIABLES).values(**row))
            new.append(_shown(row))
        else:
            fields["revision"] = old["revision"] + 1
            await connection.execute(sa.update(VARIABLES).where(VARIABLES.c.id == old["id"]).values(**fields))
            replaced.append(_shown({**old, **fields}))
    return [*replaced, *new]


async def list_environment(connection: AsyncConnection, org_id: str) -> dict[str, Any]:
    """``EnvironmentListing``: previews, never values."""
    subscriptions = (
        (
            await connection.execute(
                sa.select(SUBSCRIPTIONS)
                .where(SUBSCRIPTIONS.c.org_id == org_id)
                .order_by(SUBSCRIPTIONS.c.created_at)
            )
        )
        .mappings()
        .all()
    )
    variables = await _rows(connection, org_id)
    return {
        "subscriptions": [_subscription(dict(row)) for row in subscriptions],
        "variables": [_shown(row) for row in variables],
    }


async def remove_variable(connection: AsyncConnection, org_id: str, name: str) -> None:
    """Remove one; 404 when it is not set."""
    gone = await connection.execute(
        sa.delete(VARIABLES).where(
            VARIABLES.c.org_id == org_id, VARIABLES.c.scope == SCOPE, VARIABLES.c.name == name
        )
    )
    if not gone.rowcount:
        raise not_found(f"variable {name}")


async def names_set(connection: AsyncConnection, org_id: str) -> set[str]:
    """The names of all variables of an organization."""
    query = sa.select(VARIABLES.c.name).where(VARIABLES.c.org_id == org_id)
    return set((await connection.execute(query)).scalars())


async def values(
    connection: AsyncConnection, org_id: str, vault: Vault, names: Iterable[str] | None = None
) -> dict[str, str]:
    """The values of variables that are set; ``SealedError`` names one that cannot be opened."""
    rows = await _rows(connection, org_id, None if names is None else list(names))
    return {row["name"]: _opened(row, vault) for row in rows}


async def openable(connection: AsyncConnection, org_id: str, vault: Vault) -> dict[str, str]:
    """The values that can be opened: no others can have been lent. The log names the rest."""
    found = {}
    for row in await _rows(connection, org_id):
        try:
            found[row["name"]] = _opened(row, vault)
        except SealedError as error:
            _LOG.warning(error.message, extra={"variable": row["name"]})
    return found


async def mark_used(connection: AsyncConnection, org_id: str, names: Iterable[str]) -> None:
    """Note that a run has read these variables."""
    await connection.execute(
        sa.update(VARIABLES)
        .where(VARIABLES.c.org_id == org_id, VARIABLES.c.name.in_(list(names)))
        .values(last_used_at=now_ms())
    )


async def add_subscription(
    connection: AsyncConnection, org_id: str, plan: str, auth_json: str, vault: Vault
) -> str:
    """Store what a plan's login file holds; the first active one of a plan is its default."""
    query = sa.select(SUBSCRIPTIONS.c.id).where(
        SUBSCRIPTIONS.c.org_id == org_id, SUBSCRIPTIONS.c.plan == plan, SUBSCRIPTIONS.c.status == "active"
    )
    first = (await connection.execute(query)).first() is None
    row_id = new_id("sub")
    await connection.execute(
        sa.insert(SUBSCRIPTIONS).values(
            id=row_id, org_id=org_id, plan=plan, status="active", is_default=first,
            sealed=vault.seal(auth_json, place(org_id, "subscription", row_id)), created_at=now_ms(),
        )
    )  # fmt: skip
    return row_id


async def subscription(connection: AsyncConnection, org_id: str, plan: str, vault: Vault) -> str | None:
    """The login of a plan's default subscription."""
    query = (
        sa.select(SUBSCRIPTIONS)
        .where(
            SUBSCRIPTIONS.c.org_id == org_id, SUBSCRIPTIONS.c.plan == plan, SUBSCRIPTIONS.c.status == "active"
        )
        .order_by(SUBSCRIPTIONS.c.is_default.desc(), SUBSCRIPTIONS.c.created_at)
        .limit(1)
    )
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        return None
    return _opened_login(row, vault)


async def has_subscription(connection: AsyncConnection, org_id: str, plan: str) -> bool:
    """Whether a plan has an active subscription."""
    query = sa.select(SUBSCRIPTIONS.c.id).where(
        SUBSCRIPTIONS.c.org_id == org_id, SUBSCRIPTIONS.c.plan == plan, SUBSCRIPTIONS.c.status == "active"
    )
    return (await connection.execute(query.limit(1))).first() is not None


async def open_all(connection: AsyncConnection, vault: Vault) -> None:
    """``SealedError`` names the first secret of any organization that cannot be opened."""
    for row in (await connection.execute(sa.select(VARIABLES))).mappings().all():
        _opened(row, vault)
    for row in (await connection.execute(sa.select(SUBSCRIPTIONS))).mappings().all():
        _opened_login(row, vault)


async def reseal(connection: AsyncConnection, vault: Vault) -> int:
    """Seal everything that is not under the newest key again; how many that were."""
    count = 0
    for row in (await connection.execute(sa.select(VARIABLES))).mappings().all():
        if not vault.is_current(row["sealed"]):
            where = place(row["org_id"], row["scope"], row["name"])
            sealed = vault.seal(_opened(row, vault), where)
            await connection.execute(
                sa.update(VARIABLES).where(VARIABLES.c.id == row["id"]).values(sealed=sealed)
            )
            count += 1
    for row in (await connection.execute(sa.select(SUBSCRIPTIONS))).mappings().all():
        if not vault.is_current(row["sealed"]):
            where = place(row["org_id"], "subscription", row["id"])
            sealed = vault.seal(_opened_login(row, vault), where)
            await connection.execute(
                sa.update(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == row["id"]).values(sealed=sealed)
            )
            count += 1
    return count


def _opened(row: Mapping[Any, Any], vault: Vault) -> str:
    try:
        return vault.open(row["sealed"], place(row["org_id"], row["scope"], row["name"]))
    except SealedError as error:
        raise SealedError(
            f"variable {row['name']}: {error.message}", hint=f"sphynx env set {row['name']}"
        ) from None


def _opened_login(row: Mapping[Any, Any], vault: Vault) -> str:
    try:
        return vault.open(row["sealed"], place(row["org_id"], "subscription", row["id"]))
    except SealedError as error:
        raise SealedError(f"login {row['id']} ({row['plan']}): {error.message}") from None


async def _rows(
    connection: AsyncConnection, org_id: str, names: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    query = sa.select(VARIABLES).where(VARIABLES.c.org_id == org_id)
    if names is not None:
        query = query.where(VARIABLES.c.name.in_(names))
    query = query.order_by(VARIABLES.c.name, VARIABLES.c.scope)
    return [dict(row) for row in (await connection.execute(query)).mappings()]


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "createdAt": iso(row["created_at"]),
        "id": row["id"],
        "lastUsedAt": iso_or_none(row["last_used_at"]),
        "name": row["name"],
        "preview": row["preview"],
        "revision": row["revision"],
        "scope": row["scope"],
        "secret": row["secret"],
        "updatedAt": iso(row["updated_at"]),
    }


def _subscription(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "createdAt": iso(row["created_at"]),
        "id": row["id"],
        "isDefault": row["is_default"],
        "lastUsedAt": iso_or_none(row["last_used_at"]),
        "plan": row["plan"],
        "renews": row["plan"] == "chatgpt",
        "scope": SCOPE,
        "status": row["status"],
    }
