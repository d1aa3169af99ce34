"""How a server was started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sphynx.sandboxes.docker.options import ContainerOptions
from sphynx.server.store.database import sqlite_url

PORT = 3003
DATABASE = "sphynx.db"


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where things are and what is allowed. ``data`` holds database, master key and working files."""

    data: Path = field(default_factory=lambda: Path.home() / ".sphynx" / "server")
    database_url: str | None = field(default=None, repr=False)
    host: str = "127.0.0.1"
    port: int = PORT
    allow_local_sandbox: bool = False
    default_sandbox: str | None = None
    containers: ContainerOptions | None = None
    """How containers are made; ``None``: there are none here."""
    no_containers: Callable[[], str] = field(default=lambda: "", repr=False)
    """Asked at every start: why no container can be started just now, empty when one can."""
    isolate: bool = True
    """Local trials run in bubblewrap where this machine can."""
    jobs: int = 4
    """Trials a worker runs at a time."""
    max_body: int = 64_000_000
    """Bytes of a request body. A start may hold many bundles; a report has a limit of its own."""
    max_report: int = 4 * 1024 * 1024
    rate_limit: int = 1_000
    """Requests per key and minute."""

    @property
    def url(self) -> str:
        """The database's address."""
        return self.database_url or sqlite_url(self.data / DATABASE)

    @property
    def sandboxes(self) -> list[str]:
        """Sandboxes this server can open now. May ask the container engine whether it is there."""
        docker = self.containers is not None and not self.no_containers()
        return [*(["docker"] if docker else []), *(["local"] if self.allow_local_sandbox else [])]

    @property
    def sandbox(self) -> str | None:
        """The sandbox of a variant that names none."""
        return self.default_sandbox or next(iter(self.sandboxes), None)
