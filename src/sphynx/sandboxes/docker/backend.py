"""The docker backend: opens a container per trial, finds living ones again, removes those nobody needs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from sphynx.contracts import SandboxSpec
from sphynx.errors import MissingExtraError, StageError

try:
    import aiohttp
    from aiodocker.exceptions import DockerError

    from sphynx.sandboxes.docker.engine import Engine, failed
except ModuleNotFoundError as error:
    if error.name not in ("aiodocker", "aiohttp"):
        raise
    raise MissingExtraError("the docker sandbox", "docker") from None

from sphynx.sandboxes.docker import calls, layout, library
from sphynx.sandboxes.docker.box import DockerBox
from sphynx.sandboxes.docker.egress import Egress, variables
from sphynx.sandboxes.docker.options import NONE, OPEN, ContainerOptions

if TYPE_CHECKING:
    from aiodocker.containers import DockerContainer

IsWanted = Callable[[str], Awaitable[bool]]
LABEL = "sh.sphynx"
OWNER, TRIAL = f"{LABEL}.owner", f"{LABEL}.trial"
_NANO = 1_000_000_000
_CLOSE_S = 30.0
_NO_PYTHON = ("executable file not found", "no such file or directory", "not found in $PATH")


@dataclass(frozen=True, slots=True)
class Found:
    """A container of ours: ``labels`` say whose it is."""

    id: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Made:
    """What an image says about itself."""

    container: DockerContainer
    user: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class DockerBackend:
    """Opens a container per trial on the daemon that ``env`` leads to (``DOCKER_HOST``, or a usual socket).

    ``options`` say how containers are made, ``labels`` are put on each, ``folder`` is where the socket of a
    relay to allowed hosts goes; the daemon must see it at the same path.
    """

    def __init__(
        self,
        options: ContainerOptions | None = None,
        *,
        env: Mapping[str, str],
        labels: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.options = options or ContainerOptions()
        self.labels = {OWNER: "-", **(labels or {})}
        self._engine = Engine(env)
        self._folder = folder or Path("/tmp") / f"sphynx-egress-{secrets.token_hex(4)}"
        self._egress: dict[tuple[str, ...], Egress] = {}
        self._boxes: set[DockerBox] = set()

    async def open(
        self,
        spec: SandboxSpec,
        *,
        options: ContainerOptions | None = None,
        labels: Mapping[str, str] | None = None,
        is_wanted: IsWanted | None = None,
    ) -> DockerBox:
        """A new container for one trial; ``options`` and ``labels`` other than the backend's own are for it
        alone. ``StageError`` says why there is none, and then none is left.

        ``is_wanted`` is asked when the sandbox is closed: a container that somebody else goes on with stays.
        """
        wanted = options or self.options
        about = await self._engine.image(wanted.image)
        config = await self._config(spec, wanted, about, {**self.labels, **(labels or {})})
        container = await self._engine.create(config, f"sphynx-{secrets.token_hex(8)}")
        try:
            await self._start(container, wanted.image)
            box = self._box(_Made(container, about.get("User") or "", self._proxies(wanted)), spec, is_wanted)
            await self._set_up(container, wanted.image, about.get("User") or "")
        except BaseException:
            with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_S), suppress(StageError):
                await self._engine.remove(str(container.id))
            raise
        self._boxes.add(box)
        return box

    async def attach(
        self,
        container_id: str,
        spec: SandboxSpec,
        *,
        options: ContainerOptions | None = None,
        is_wanted: IsWanted | None = None,
    ) -> DockerBox | None:
        """The sandbox of a container that still runs, whoever opened it; ``None`` when it does not.

        Calls of other processes that still run in it are killed; what calls left behind lives on.
        """
        container = await self._engine.find(container_id)
        if container is None or container["Config"]["Labels"].get(OWNER) != self.labels[OWNER]:
            return None
        wanted = options or self.options
        if wanted.network.mode == "hosts":
            egress = self._egress_to(wanted.network.hosts)
            await egress.start()
            binds = container["HostConfig"].get("Binds") or ()
            if not any(bind.startswith(f"{egress.folder}:") for bind in binds):
                text = "The container's way to the allowed hosts ended with the worker"
                raise StageError(text, stage="sandbox", cause="sandbox")
        user = container["Config"].get("User") or ""
        user = container["Config"]["Labels"].get(f"{LABEL}.user", user)
        try:
            said = await calls.call(container, {"op": "alone"})
        except calls.Broken:
            return None  # it has just ended
        if "errno" in said:
            raise StageError(f"The container: {said['reason']}", stage="sandbox", cause="sandbox")
        box = self._box(_Made(container, user, self._proxies(wanted)), spec, is_wanted)
        self._boxes.add(box)
        return box

    async def found(self) -> list[Found]:
        """Every container of this backend's owner."""
        listed = await self._engine.listed({OWNER: self.labels[OWNER]})
        return [Found(str(one.id), one["Labels"] or {}) for one in listed]

    async def sweep(self, is_over: Callable[[list[Found]], Awaitable[set[str]]]) -> int:
        """Remove the owner's containers that ``is_over`` gives the ids of; how many. Those open here stay."""
        here = {box.id for box in self._boxes}
        candidates = [one for one in await self.found() if one.id not in here]
        over = await is_over(candidates) if candidates else set[str]()
        for container_id in over:
            await self._engine.remove(container_id)
        return len(over)

    async def aclose(self) -> None:
        """Close every sandbox that is still open, and the connection to the daemon."""
        with anyio.CancelScope(shield=True):
            closing = [asyncio.create_task(box.close()) for box in self._boxes]
            if closing:
                await asyncio.wait(closing, timeout=_CLOSE_S)
            for egress in self._egress.values():
                await egress.aclose()
            await self._engine.aclose()

    def _box(self, made: _Made, spec: SandboxSpec, is_wanted: IsWanted | None) -> DockerBox:
        container_id = str(made.container.id)

        async def remove() -> None:
            self._boxes.discard(box)
            if is_wanted is None or not await is_wanted(container_id):
                await self._engine.remove(container_id)

        box = DockerBox(
            made.container,
            user=made.user,
            env={**made.env, **spec.env},
            bundle=spec.bundle,
            remove=remove,
            why_gone=lambda: self._why_gone(container_id),
        )
        return box

    async def _config(
        self, spec: SandboxSpec, wanted: ContainerOptions, about: Mapping[str, Any], labels: Mapping[str, str]
    ) -> dict[str, Any]:
        host: dict[str, Any] = {
            "Memory": wanted.memory or 0,
            "MemorySwap": wanted.memory or 0,
            "NanoCpus": int(wanted.cpus * _NANO) if wanted.cpus else 0,
            "PidsLimit": wanted.pids or 0,
            "SecurityOpt": ["no-new-privileges"],
            "CapDrop": ["NET_RAW", "MKNOD", "AUDIT_WRITE"],
        }
        socket = ""
        if wanted.network.mode == "hosts":
            egress = self._egress_to(wanted.network.hosts)
            await egress.start()
            host["Binds"] = [f"{egress.folder}:{layout.EGRESS}:ro"]
            host["NetworkMode"] = NONE
            socket = f"{layout.EGRESS}/{layout.SOCKET}"
        elif wanted.network.mode != OPEN:
            host["NetworkMode"] = wanted.network.mode
        user = about.get("User") or ""
        return {
            "Image": wanted.image,
            "Entrypoint": [],
            "Cmd": library.init_command(wanted.lifetime_s, socket),
            "User": "0:0",
            "WorkingDir": "/",
            "Healthcheck": {"Test": ["NONE"]},
            "Labels": {TRIAL: spec.trial_id, **labels, f"{LABEL}.user": user},
            "HostConfig": host,
        }

    async def _start(self, container: DockerContainer, image: str) -> None:
        try:
            await container.put_archive("/", library.archive())
            await container.start()
        except DockerError as error:
            said = str(error.message).lower()
            if library.PYTHON in said and any(mark in said for mark in _NO_PYTHON):
                raise _lacks(image, "python3") from None
            raise failed("The container did not start", error) from None

    async def _set_up(self, container: DockerContainer, image: str, user: str) -> None:
        try:
            said = await calls.call(container, {"op": "setup", "user": user})
        except calls.Broken as error:
            if error.said.startswith("python "):
                raise _lacks(
                    image, f"Python 3.11 or newer, it has {error.said.removeprefix('python ')}"
                ) from None
            why = await self._why_gone(str(container.id)) or f"its python3 failed: {error.said}"
            raise StageError(f"The image {image}: {why}", stage="sandbox", cause="sandbox") from None
        if "errno" in said:
            raise StageError(f"The image {image}: {said['reason']}", stage="sandbox", cause="sandbox")
        if not said["bash"]:
            raise _lacks(image, "bash")

    async def _why_gone(self, container_id: str) -> str:
        """Why a container no longer runs; empty when it does."""
        try:
            found = await self._engine.client.containers.get(container_id)
        except (DockerError, OSError, aiohttp.ClientError) as error:
            if isinstance(error, DockerError) and error.status == 404:
                return "The container is gone"
            return failed("The container cannot be looked at", error).message
        state = found["State"]
        if state.get("Running"):
            return ""
        if state.get("OOMKilled"):
            return "The container ran out of memory"
        return f"The container ended with exit code {state.get('ExitCode')}"

    def _egress_to(self, hosts: tuple[str, ...]) -> Egress:
        if hosts not in self._egress:
            name = f"{len(self._egress)}" if self._egress else "out"
            self._egress[hosts] = Egress(self._folder / name, hosts)
        return self._egress[hosts]

    @staticmethod
    def _proxies(wanted: ContainerOptions) -> dict[str, str]:
        return variables() if wanted.network.mode == "hosts" else {}


def _lacks(image: str, what: str) -> StageError:
    return StageError(
        f"The image {image} has no {what}",
        stage="sandbox",
        cause="sandbox",
        hint="a trial needs bash and Python 3.11 or newer: see containers/agent.Dockerfile",
    )
