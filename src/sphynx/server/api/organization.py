"""whoami and the environment store."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sphynx.server.api.context import Asked
from sphynx.server.refusals import bad_request
from sphynx.server.store import environment
from sphynx.server.store.accounts import PERMISSIONS
from sphynx.settings.names import name_problem


async def whoami(asked: Asked) -> dict[str, Any]:
    """``Whoami``."""
    actor = asked.actor
    return {
        "credential": {"kind": "apiKey", "name": actor.key_name, "start": actor.key_start},
        "organization": {"id": actor.org_id, "name": actor.org_name, "slug": actor.org_slug},
        "permissions": [one for one in PERMISSIONS if one in actor.permissions],
    }


async def list_environment(asked: Asked) -> dict[str, Any]:
    """``EnvironmentListing``."""
    async with asked.database.read() as connection:
        return await environment.list_environment(connection, asked.org)


async def set_variables(asked: Asked) -> list[dict[str, Any]]:
    """Store variables; nothing of them is stored when one is refused."""
    _organization_only(asked.body.scope)
    names = [variable.name for variable in asked.body.variables]
    for name in names:
        problem = name_problem(name)
        if problem is not None:
            raise bad_request(f"{name} {problem}")
    for name, count in Counter(names).items():
        if count > 1:
            raise bad_request(f"{name} is there {count} times")
    variables = [
        {"name": variable.name, "value": variable.value, "secret": variable.secret}
        for variable in asked.body.variables
    ]
    async with asked.database.write() as connection:
        return await environment.set_variables(connection, asked.org, variables, asked.services.vault)


async def remove_variable(asked: Asked) -> None:
    """Remove a variable."""
    _organization_only(asked.body.scope)
    problem = name_problem(asked.body.name)
    if problem is not None:
        raise bad_request(f"{asked.body.name} {problem}")
    async with asked.database.write() as connection:
        await environment.remove_variable(connection, asked.org, asked.body.name)


def _organization_only(scope: str) -> None:
    if scope == "personal":
        raise bad_request("an API key cannot own personal variables: use the organization's")


HANDLERS = {
    "auth.whoami": whoami,
    "environment.list": list_environment,
    "environment.set": set_variables,
    "environment.remove": remove_variable,
}
