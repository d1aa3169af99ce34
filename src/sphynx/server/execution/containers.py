"""Containers of this server's trials on this machine's engine: one backend for all, and its janitor."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from sphynx.contracts import Sandbox, SandboxSpec
from sphynx.errors import StageError
from sphynx.registry import load_sandbox
from sphynx.sandboxes.docker import daemon
from sphynx.sandboxes.docker.options import ContainerOptions
from sphynx.server.store import checkpoints
from sphynx.server.store.database import Database
from sphynx.server.store.tables import ENDED, TRIALS
from sphynx.server.vault import Vault

if TYPE_CHECKING:
    from sphynx.sandboxes.docker.backend import DockerBackend, Found

OF_TRIAL, ATTEMPT = "sh.sphynx.of", "sh.sphynx.attempt"
_ASK_S = 2.0
_LOG = logging.getLogger("sphynx.worker")


class Containers:
    """Opens containers with the server's options, and removes those whose trial has ended."""

    def __init__(
        self,
        options: ContainerOptions,
        environ: Mapping[str, str],
        data: Path,
        vault: Vault,
        database: Database,
    ) -> None:
        self._options = options
        self._environ = environ
        self._folder = data / "egress"
        # Workers of one server share its master key, and know each other's containers by what it gives.
        self._owner = vault.derived("containers").hex()[:20]
        self._database = database
        self._backend: DockerBackend | None = None

    def of(self, trial_id: str, attempt: int, image: str | None) -> OfTrial:
        """A backend for one attempt of one trial; ``image`` is the variant's own."""
        options = replace(self._options, image=image) if image else self._options
        return OfTrial(self._opened(), options, trial_id, attempt, self._database)

    def _opened(self) -> DockerBackend:
        backend = self._backend
        if backend is None:
            from sphynx.sandboxes.docker.backend import OWNER

            backend = self._backend = load_sandbox("docker")(
                self._options, env=self._environ, labels={OWNER: self._owner}, folder=self._folder
            )
        return backend

    async def sweep(self) -> None:
        """Remove containers that no trial needs any more, whichever worker has left them."""
        if await anyio.to_thread.run_sync(daemon.why_not, self._environ):
            return
        try:
            swept = await self._opened().sweep(self._over)
        except StageError as error:
            _LOG.warning("containers were not looked at", extra={"why": error.message})
            return
        if swept:
            _LOG.warning("removed containers of trials that are over", extra={"containers": swept})

    async def _over(self, found: Sequence[Found]) -> set[str]:
        ids = {one.labels.get(OF_TRIAL, "") for one in found}
        async with self._database.read() as connection:
            query = sa.select(TRIALS.c.id, TRIALS.c.status, TRIALS.c.attempt).where(TRIALS.c.id.in_(ids))
            rows = {row.id: row for row in (await connection.execute(query)).all()}
            # Of an attempt before, but the trial goes on in it, or is about to.
            wanted = await checkpoints.wanted(connection, [one.id for one in found])
        over = {one.id for one in found if _is_over(one.labels, rows.get(one.labels.get(OF_TRIAL, "")))}
        return over - wanted

    async def aclose(self) -> None:
        """Close what is open here."""
        if self._backend is not None:
            await self._backend.aclose()
            self._backend = None


def _is_over(labels: Mapping[str, str], trial: Any) -> bool:
    """Whether a container's trial has ended, or has been begun anew elsewhere."""
    if trial is None or trial.status in ENDED:
        return True
    attempt = labels.get(ATTEMPT, "")
    return not attempt.isdigit() or int(attempt) < trial.attempt


class NoContainers:
    """Stands for a backend on a worker that was told to run none."""

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """``StageError``."""
        raise StageError("This worker runs no containers", stage="sandbox", cause="sandbox")

    async def aclose(self) -> None:
        """Nothing."""


class OfTrial:
    """A ``SandboxBackend`` for one attempt of one trial."""

    def __init__(
        self,
        backend: DockerBackend,
        options: ContainerOptions,
        trial_id: str,
        attempt: int,
        database: Database,
    ) -> None:
        self.trial_id = trial_id
        self.attempt = attempt
        self._backend = backend
        self._options = options
        self._labels = {OF_TRIAL: trial_id, ATTEMPT: str(attempt)}
        self._database = database
        self.sandbox_id: str | None = None
        """The trial's own container: the first; those of its judges and persons come later."""

    async def open(self, spec: SandboxSpec) -> Sandbox:
        """A container with the attempt's labels."""
        box = await self._backend.open(
            spec, options=self._options, labels=self._labels, is_wanted=self._is_taken
        )
        self.sandbox_id = self.sandbox_id or box.id
        return box

    async def attach(self, sandbox_id: str, spec: SandboxSpec) -> Sandbox | None:
        """The container an attempt before this one has left, if it still runs on this machine."""
        box = await self._backend.attach(
            sandbox_id, spec, options=self._options, is_wanted=self._is_taken
        )  # fmt: skip
        self.sandbox_id = sandbox_id if box is not None else None
        return box

    async def _is_taken(self, sandbox_id: str) -> bool:
        """Whether a later attempt goes on in this container. Where nobody can tell, the janitor decides."""
        if sandbox_id != self.sandbox_id:
            return False
        try:
            with anyio.fail_after(_ASK_S):
                async with self._database.read() as connection:
                    return await checkpoints.is_taken(connection, self.trial_id, self.attempt, sandbox_id)
        except (SQLAlchemyError, OSError, TimeoutError):
            return True

    async def aclose(self) -> None:
        """Nothing: the worker's backend serves other trials too."""
