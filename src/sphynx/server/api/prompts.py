"""Prompts."""

from __future__ import annotations

from typing import Any

from sphynx.server.api.context import Asked
from sphynx.server.store import prompts


async def get(asked: Asked) -> dict[str, Any]:
    """``Prompt`` at the version that was asked for."""
    async with asked.database.read() as connection:
        return await prompts.get(connection, asked.org, asked.body)


async def list_all(asked: Asked) -> dict[str, Any]:
    """``PromptList``."""
    async with asked.database.read() as connection:
        return await prompts.list_all(connection, asked.org)


async def create(asked: Asked) -> dict[str, Any]:
    """A new prompt."""
    async with asked.database.write() as connection:
        return await prompts.create(connection, asked.org, asked.body)


async def update(asked: Asked) -> dict[str, Any]:
    """A new version."""
    async with asked.database.write() as connection:
        return await prompts.update(connection, asked.org, asked.body)


async def promote(asked: Asked) -> dict[str, Any]:
    """Point a channel at a version."""
    body = asked.body
    async with asked.database.write() as connection:
        await prompts.promote(asked.database, connection, asked.org, body.id, body.channel, body.version)
    return {"ok": True}


HANDLERS = {
    "prompts.get": get,
    "prompts.list": list_all,
    "prompts.create": create,
    "prompts.update": update,
    "prompts.promote": promote,
}
