"""The checkpoint of one attempt of a trial in a container: kept in the store, gone on from in there."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread

from sphynx.contracts import Sandbox, SandboxSpec
from sphynx.errors import StageError
from sphynx.server.execution.containers import OfTrial
from sphynx.server.store import checkpoints
from sphynx.server.store.database import Database, patiently
from sphynx.server.store.tables import expand, squeeze

MOST_BYTES = 16_000_000
"""Of a compressed checkpoint."""
_KEEP_S = 10.0
_LOG = logging.getLogger("sphynx.worker")


class StoredCheckpoints:
    """The engine's ``Checkpoints`` for one attempt. ``told`` is what its result says about the one before."""

    def __init__(self, database: Database, backend: OfTrial) -> None:
        self._database = database
        self._backend = backend
        self._sandbox_id = ""
        self._resumed = False
        self._why = ""

    @property
    def told(self) -> dict[str, Any]:
        """Fields for a result that is not the first attempt's."""
        lost = f"attempt {self._backend.attempt}: the worker of the one before was lost"
        if self._resumed:
            return {
                "note": f"{lost}; it went on with the checks, in the same sandbox",
                "resumedFrom": "checks",
            }
        return {"note": f"{lost}, so it began anew" + (f": {self._why}" if self._why else "")}

    async def left(self) -> Mapping[str, Any] | None:
        """What an attempt before this one has left; nothing is asked for the first."""
        if self._backend.attempt == 1:
            return None
        row = await patiently(self._row)
        if row is None:
            self._why = "its agent was not done"
            return None
        if row.state_z is None:
            self._why = row.why_not
            return None
        self._sandbox_id = row.sandbox_id
        return await anyio.to_thread.run_sync(expand, row.state_z)

    async def attach(self, spec: SandboxSpec) -> Sandbox | None:
        """The container it was left in, with no call running there any more."""
        try:
            box = await self._backend.attach(self._sandbox_id, spec)
        except StageError as error:
            await self.give_up(error.message)
            return None
        if box is None:
            await self.give_up("its sandbox is gone")
            return None
        self._resumed = True
        return box

    async def keep(self, box: Sandbox, state: Mapping[str, Any]) -> None:
        """Store it, unless it is too large or the store does not answer in time."""
        packed = await anyio.to_thread.run_sync(squeeze, state)
        if len(packed) > MOST_BYTES:
            await self._store(None, None, "what it had was too large to be kept")
        else:
            await self._store(box.id, packed, "")

    async def give_up(self, why: str) -> None:
        """The next attempt begins anew; so does this one when it wanted to go on."""
        self._why = why
        await self._store(None, None, why)

    async def _row(self) -> Any:
        async with self._database.read() as connection:
            return await checkpoints.left(connection, self._backend.trial_id)

    async def _store(self, sandbox_id: str | None, state_z: bytes | None, why_not: str) -> None:
        trial_id, attempt = self._backend.trial_id, self._backend.attempt

        async def write() -> None:
            async with self._database.write() as connection:
                await checkpoints.keep(
                    self._database, connection, trial_id, attempt,
                    sandbox_id=sandbox_id, state_z=state_z, why_not=why_not,
                )  # fmt: skip

        with anyio.move_on_after(_KEEP_S) as waited:
            await patiently(write)
        if waited.cancelled_caught:
            _LOG.warning("a checkpoint was not kept in time", extra={"trial": trial_id, "attempt": attempt})
