"""The container engine behind its HTTP interface: images, containers, and what its errors mean to people."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiodocker import Docker
from aiodocker.containers import DockerContainer
from aiodocker.exceptions import DockerError

from sphynx.errors import StageError
from sphynx.sandboxes.docker import daemon

_GONE = (404, 409)
_PULL_S = 1_200
_NO_STATUS = 600


class Engine:
    """One connection to a daemon, made at first use."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._client: Docker | None = None
        self._connector: aiohttp.BaseConnector | None = None
        self._pulls: dict[str, asyncio.Lock] = {}

    @property
    def client(self) -> Docker:
        """The client; ``StageError`` when there is no address of a daemon."""
        if self._client is None:
            there = daemon.address(self._environ)
            if there is None:
                raise StageError(
                    "No Docker or Podman socket was found, and DOCKER_HOST is not set",
                    stage="sandbox",
                    cause="sandbox",
                )
            # Every command that runs holds a connection, so their number must not be limited here.
            if there.startswith("unix://"):
                self._connector = aiohttp.UnixConnector(urlsplit(there).path, limit=0)
                self._client = Docker("unix://localhost", connector=self._connector)
            else:
                self._client = Docker(there)
        return self._client

    async def image(self, name: str) -> dict[str, Any]:
        """The image's configuration, pulled when it is not here. ``StageError`` when it cannot be had."""
        try:
            return (await self.client.images.inspect(name))["Config"] or {}
        except DockerError as error:
            if error.status != 404:
                raise failed(f"The image {name} cannot be used", error) from None
        except (OSError, aiohttp.ClientError) as error:
            raise failed("The container engine cannot be reached", error) from None
        async with self._pulls.setdefault(name, asyncio.Lock()):
            try:
                return (await self.client.images.inspect(name))["Config"] or {}
            except DockerError:
                await self._pull(name)
        return (await self.client.images.inspect(name))["Config"] or {}

    async def _pull(self, name: str) -> None:
        tagged = "@" in name or ":" in name.rsplit("/", 1)[-1]
        try:
            async with asyncio.timeout(_PULL_S):
                await self.client.images.pull(name if tagged else f"{name}:latest")
        except (DockerError, OSError, aiohttp.ClientError) as error:
            raise failed(f"The image {name} is not here and could not be pulled", error) from None

    async def create(self, config: Mapping[str, Any], name: str) -> DockerContainer:
        """A container that is not started yet."""
        try:
            return await self.client.containers.create(dict(config), name=name)
        except (DockerError, OSError, aiohttp.ClientError) as error:
            raise failed("The container could not be made", error) from None

    async def find(self, container_id: str) -> DockerContainer | None:
        """A container that runs; ``None`` when there is none of this id."""
        try:
            found = await self.client.containers.get(container_id)
        except (DockerError, OSError, aiohttp.ClientError) as error:
            if isinstance(error, DockerError) and error.status in _GONE:
                return None
            raise failed("The container could not be found", error) from None
        return found if found["State"].get("Running") else None

    async def listed(self, labels: Mapping[str, str]) -> list[DockerContainer]:
        """Containers with these labels, also those that have ended."""
        wanted = [f"{name}={value}" for name, value in labels.items()]
        try:
            return await self.client.containers.list(all=True, filters=json.dumps({"label": wanted}))
        except (DockerError, OSError, aiohttp.ClientError) as error:
            raise failed("The containers could not be listed", error) from None

    async def remove(self, container_id: str) -> None:
        """Kill and remove a container; one that is gone, or going, is fine."""
        try:
            await self.client.containers.container(container_id).delete(force=True, v=True)
        except (DockerError, OSError, aiohttp.ClientError) as error:
            if not (isinstance(error, DockerError) and error.status in _GONE):
                raise failed("The container could not be removed", error) from None

    async def aclose(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        if self._connector is not None:
            await self._connector.close()
            self._connector = None


def is_away(error: Exception) -> bool:
    """Whether nobody answers: the client gives such an error a status no server has."""
    return not isinstance(error, DockerError) or error.status >= _NO_STATUS


def failed(what: str, error: Exception) -> StageError:
    """Why the trial is void, in one line."""
    said = error.message if isinstance(error, DockerError) else str(error) or type(error).__name__
    if is_away(error):
        what = "The container engine cannot be reached"
    line = " ".join(str(said).split())
    return StageError(f"{what}: {line[:500]}", stage="sandbox", cause="sandbox")
