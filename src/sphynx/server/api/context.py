"""What every handler is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sphynx.server.configuration import Configuration
from sphynx.server.encoded import Encoded
from sphynx.server.store.accounts import Actor
from sphynx.server.store.database import Database
from sphynx.server.vault import Vault


@dataclass(frozen=True, slots=True)
class Services:
    """What the server is made of."""

    configuration: Configuration
    database: Database
    vault: Vault
    environ: Mapping[str, str]
    encoded: Encoded = field(default_factory=Encoded)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: who asks, for what, with which body (already of the right form)."""

    services: Services
    actor: Actor
    body: Any
    headers: Mapping[str, str]

    @property
    def database(self) -> Database:
        """The store."""
        return self.services.database

    @property
    def org(self) -> str:
        """The organization that asks; nothing of any other may be read."""
        return self.actor.org_id


Handler: TypeAlias = Callable[[Asked], Awaitable[Any]]
