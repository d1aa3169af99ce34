"""Where one worker's trials run: containers, or local backends, one per batch that keeps its code loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic

from sphynx.contracts import SandboxBackend
from sphynx.registry import load_sandbox
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.server.execution.containers import Containers, NoContainers

UNUSED_S = 20.0
_SWEEP_S = 10.0


class Backends:
    """Opens a batch's local backend with its first trial and closes it some time after the last.

    ``containers`` is for trials in the sandbox ``docker``; ``None`` where there are none.
    """

    def __init__(
        self, root: LocalRoot, environ: Mapping[str, str], containers: Containers | None = None
    ) -> None:
        self._root = root
        self._environ = environ
        self._containers = containers
        self._open: dict[str, SandboxBackend] = {}
        self._users: dict[str, int] = {}
        self._left: dict[str, float] = {}
        self._swept_at = float("-inf")

    @asynccontextmanager
    async def of(
        self, batch_id: str, sandbox: str, trial_id: str, attempt: int, image: str | None = None
    ) -> AsyncIterator[SandboxBackend]:
        """The backend for one attempt of a trial."""
        if sandbox == "docker":
            there = self._containers
            yield NoContainers() if there is None else there.of(trial_id, attempt, image)
            return
        backend = self._open.get(batch_id)
        if backend is None:
            backend = self._open[batch_id] = load_sandbox("local")(self._root, env=self._environ)
        self._users[batch_id] = self._users.get(batch_id, 0) + 1
        try:
            yield backend
        finally:
            self._users[batch_id] -= 1
            self._left[batch_id] = monotonic()

    async def tidy(self, *, everything: bool = False) -> None:
        """Close backends no trial has used for a while; with ``everything`` all of them. Now and then remove
        containers nobody needs."""
        now = monotonic()
        for batch_id in list(self._open):
            unused = not self._users.get(batch_id) and now - self._left.get(batch_id, now) > UNUSED_S
            if everything or unused:
                backend = self._open.pop(batch_id)
                self._users.pop(batch_id, None)
                self._left.pop(batch_id, None)
                await backend.aclose()
        if self._containers is None:
            return
        if everything:
            await self._containers.aclose()
        elif now - self._swept_at > _SWEEP_S:
            self._swept_at = now
            await self._containers.sweep()
