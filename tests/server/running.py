"""A real server on loopback over a real store, for one test or a whole module."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from sphynx import Sphynx
from sphynx.server.api.context import Services
from sphynx.server.app import create_app
from sphynx.server.configuration import Configuration
from sphynx.server.store import accounts
from sphynx.server.store.database import Database
from sphynx.server.store.migrate import migrate
from sphynx.server.vault import open_vault


@dataclass
class Running:
    """A server that answers. ``key`` is the first organization's."""

    url: str
    key: str
    data: Path
    database_url: str
    http: httpx.Client

    def client(self, key: str | None = None) -> Sphynx:
        return Sphynx(key or self.key, self.url)

    def post(self, name: str, body: Any = None, *, key: str | None = None, **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {key or self.key}", **more.pop("headers", {})}
        return self.http.post(f"/v1/{name}", json={} if body is None else body, headers=headers, **more)

    def new_org(self, slug: str, permissions: list[str] | None = None) -> str:
        return asyncio.run(make_key(self.database_url, slug, permissions))


async def make_key(url: str, slug: str, permissions: list[str] | None = None) -> str:
    """A key of an organization, which is made when it is new."""
    database = Database(url)
    try:
        async with database.write() as connection:
            try:
                org = await accounts.org_id_of(connection, slug)
            except Exception:
                org = await accounts.create_org(connection, slug, f"Org {slug}")
            return await accounts.create_key(connection, org, f"key of {slug}", permissions)
    finally:
        await database.aclose()


def revoke_keys(server: Running, slug: str) -> None:
    """Every key of an organization stops working."""

    async def revoke() -> None:
        database = Database(server.database_url)
        async with database.write() as connection:
            for key in await accounts.list_keys(connection):
                if key["slug"] == slug and key["revoked_at"] is None:
                    await accounts.revoke_key(connection, key["id"])
        await database.aclose()

    asyncio.run(revoke())


@contextmanager
def running(data: Path, *, environ: dict[str, str] | None = None, **options: Any) -> Iterator[Running]:
    """Serve from ``data`` until the block ends."""
    data.mkdir(parents=True, exist_ok=True)
    configuration = Configuration(data=data, **options)
    migrate(configuration.url)
    key = asyncio.run(make_key(configuration.url, "acme"))
    services = Services(configuration, Database(configuration.url), open_vault(data, {}), environ or {})
    config = uvicorn.Config(create_app(services), host="127.0.0.1", port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, timeout=30) as http:
            yield Running(url, key, data, configuration.url, http)
    finally:
        server.should_exit = True
        thread.join()
