"""Prompts, their versions, and the channels that point at them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.schema.wire import CreatePromptRequest, GetPromptRequest, UpdatePromptRequest
from sphynx.server.identifiers import iso, now_ms
from sphynx.server.refusals import conflict, not_found
from sphynx.server.store.database import Database
from sphynx.server.store.tables import PROMPT_CHANNELS, PROMPT_VERSIONS, PROMPTS

DEFAULT_CHANNEL = "production"
LATEST = "latest"
_MOST = 100


async def create(connection: AsyncConnection, org_id: str, asked: CreatePromptRequest) -> dict[str, Any]:
    """A new prompt; its version 1 is published to the default channel."""
    if await _row(connection, org_id, asked.id) is not None:
        raise conflict(f'there is a prompt "{asked.id}" already')
    at = now_ms()
    prompt = {"org_id": org_id, "id": asked.id, "name": asked.name, "description": asked.description}
    await connection.execute(sa.insert(PROMPTS).values(**prompt, created_at=at, updated_at=at))
    version = await _add(connection, org_id, asked.id, 1, asked.content, asked.config or {}, asked.message)
    await connection.execute(
        sa.insert(PROMPT_CHANNELS).values(
            org_id=org_id, prompt_id=asked.id, channel=DEFAULT_CHANNEL, version=1, updated_at=at
        )
    )
    return _prompt(prompt, version, DEFAULT_CHANNEL)


async def update(connection: AsyncConnection, org_id: str, asked: UpdatePromptRequest) -> dict[str, Any]:
    """A new version, which no channel points at yet."""
    prompt = await _needed(connection, org_id, asked.id)
    newest = await _newest(connection, org_id, asked.id)
    number = 1 if newest is None else newest["version"] + 1
    version = await _add(connection, org_id, asked.id, number, asked.content, asked.config, asked.message)
    await connection.execute(
        sa.update(PROMPTS)
        .where(PROMPTS.c.org_id == org_id, PROMPTS.c.id == asked.id)
        .values(updated_at=version["created_at"])
    )
    return _prompt(prompt, version, None)


async def promote(
    database: Database, connection: AsyncConnection, org_id: str, prompt_id: str, channel: str, version: int
) -> None:
    """Point a channel at a version; ``latest`` is computed and cannot be pointed anywhere."""
    if channel == LATEST:
        raise conflict('the channel "latest" is always the newest version and cannot be promoted to')
    await _needed(connection, org_id, prompt_id)
    await _version(connection, org_id, prompt_id, version)
    values = {"org_id": org_id, "prompt_id": prompt_id, "channel": channel, "version": version}
    await database.upsert(
        connection, PROMPT_CHANNELS, {**values, "updated_at": now_ms()}, ("version", "updated_at")
    )


async def get(connection: AsyncConnection, org_id: str, asked: GetPromptRequest) -> dict[str, Any]:
    """A version if named, else a channel's, else the default channel's, else the newest."""
    prompt = await _needed(connection, org_id, asked.id)
    channel: str | None = None
    if asked.version is not None:
        version = await _version(connection, org_id, asked.id, asked.version)
    else:
        channel, version = await _of_channel(connection, org_id, asked.id, asked.channel)
    answer = _prompt(prompt, version, channel)
    if asked.include_versions:
        query = (
            sa.select(PROMPT_VERSIONS)
            .where(PROMPT_VERSIONS.c.org_id == org_id, PROMPT_VERSIONS.c.prompt_id == asked.id)
            .order_by(PROMPT_VERSIONS.c.version.desc())
        )
        rows = (await connection.execute(query)).mappings().all()
        answer["versions"] = [
            {"createdAt": iso(row["created_at"]), "message": row["message"], "version": row["version"]}
            for row in rows
        ]
    return answer


async def list_all(connection: AsyncConnection, org_id: str) -> dict[str, Any]:
    """The 100 prompts that were updated last, newest first."""
    newest = (
        sa.select(PROMPT_VERSIONS.c.prompt_id, sa.func.max(PROMPT_VERSIONS.c.version).label("version"))
        .where(PROMPT_VERSIONS.c.org_id == org_id)
        .group_by(PROMPT_VERSIONS.c.prompt_id)
        .subquery()
    )
    query = (
        sa.select(PROMPTS, newest.c.version, PROMPT_CHANNELS.c.version.label("published"))
        .outerjoin(newest, newest.c.prompt_id == PROMPTS.c.id)
        .outerjoin(
            PROMPT_CHANNELS,
            sa.and_(
                PROMPT_CHANNELS.c.org_id == org_id,
                PROMPT_CHANNELS.c.prompt_id == PROMPTS.c.id,
                PROMPT_CHANNELS.c.channel == DEFAULT_CHANNEL,
            ),
        )
        .where(PROMPTS.c.org_id == org_id)
        .order_by(PROMPTS.c.updated_at.desc(), PROMPTS.c.id)
        .limit(_MOST)
    )
    rows = (await connection.execute(query)).mappings().all()
    return {
        "data": [
            {
                "id": row["id"],
                "latestVersion": row["version"],
                "name": row["name"],
                "productionVersion": row["published"],
                "updatedAt": iso(row["updated_at"]),
            }
            for row in rows
        ]
    }


async def _of_channel(
    connection: AsyncConnection, org_id: str, prompt_id: str, wanted: str | None
) -> tuple[str | None, dict[str, Any]]:
    if wanted != LATEST:
        name = wanted or DEFAULT_CHANNEL
        query = sa.select(PROMPT_CHANNELS.c.version).where(
            PROMPT_CHANNELS.c.org_id == org_id,
            PROMPT_CHANNELS.c.prompt_id == prompt_id,
            PROMPT_CHANNELS.c.channel == name,
        )
        number = (await connection.execute(query)).scalar_one_or_none()
        if number is not None:
            return name, await _version(connection, org_id, prompt_id, number)
        if wanted is not None:
            raise not_found(f'channel "{wanted}" of prompt "{prompt_id}"')
    newest = await _newest(connection, org_id, prompt_id)
    if newest is None:
        raise not_found(f'version of prompt "{prompt_id}"')
    return LATEST, newest


async def _add(
    connection: AsyncConnection,
    org_id: str,
    prompt_id: str,
    version: int,
    content: str,
    config: dict[str, Any],
    message: str | None,
) -> dict[str, Any]:
    row = {
        "org_id": org_id, "prompt_id": prompt_id, "version": version, "content": content, "config": config,
        "message": message, "created_at": now_ms(),
    }  # fmt: skip
    try:
        await connection.execute(sa.insert(PROMPT_VERSIONS).values(**row))
    except exc.IntegrityError:
        raise conflict(f'somebody added version {version} of "{prompt_id}" just now, try again') from None
    return row


async def _row(connection: AsyncConnection, org_id: str, prompt_id: str) -> dict[str, Any] | None:
    query = sa.select(PROMPTS).where(PROMPTS.c.org_id == org_id, PROMPTS.c.id == prompt_id)
    row = (await connection.execute(query)).mappings().first()
    return None if row is None else dict(row)


async def _needed(connection: AsyncConnection, org_id: str, prompt_id: str) -> dict[str, Any]:
    row = await _row(connection, org_id, prompt_id)
    if row is None:
        raise not_found(f'prompt "{prompt_id}"')
    return row


async def _newest(connection: AsyncConnection, org_id: str, prompt_id: str) -> dict[str, Any] | None:
    query = (
        sa.select(PROMPT_VERSIONS)
        .where(PROMPT_VERSIONS.c.org_id == org_id, PROMPT_VERSIONS.c.prompt_id == prompt_id)
        .order_by(PROMPT_VERSIONS.c.version.desc())
        .limit(1)
    )
    row = (await connection.execute(query)).mappings().first()
    return None if row is None else dict(row)


async def _version(connection: AsyncConnection, org_id: str, prompt_id: str, version: int) -> dict[str, Any]:
    query = sa.select(PROMPT_VERSIONS).where(
        PROMPT_VERSIONS.c.org_id == org_id,
        PROMPT_VERSIONS.c.prompt_id == prompt_id,
        PROMPT_VERSIONS.c.version == version,
    )
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        raise not_found(f'version {version} of prompt "{prompt_id}"')
    return dict(row)


def _prompt(prompt: dict[str, Any], version: dict[str, Any], channel: str | None) -> dict[str, Any]:
    return {
        "channel": channel,
        "config": version["config"],
        "content": version["content"],
        "createdAt": iso(version["created_at"]),
        "id": prompt["id"],
        "message": version["message"],
        "name": prompt["name"],
        "version": version["version"],
    }
