"""Local backends of one worker: one per batch, since a backend keeps the batch's code loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from time import monotonic

from sphynx.contracts import SandboxBackend
from sphynx.registry import load_sandbox
from sphynx.sandboxes.local_root import LocalRoot

UNUSED_S = 20.0


class Backends:
    """Opens a batch's backend with its first trial and closes it some time after the last."""

    def __init__(self, root: LocalRoot, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ
        self._open: dict[str, SandboxBackend] = {}
        self._users: dict[str, int] = {}
        self._left: dict[str, float] = {}

    @asynccontextmanager
    async def of(self, batch_id: str) -> AsyncIterator[SandboxBackend]:
        """The backend of a batch, for one trial."""
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
        """Close backends no trial has used for a while; with ``everything`` all of them."""
        now = monotonic()
        for batch_id in list(self._open):
            unused = not self._users.get(batch_id) and now - self._left.get(batch_id, now) > UNUSED_S
            if everything or unused:
                backend = self._open.pop(batch_id)
                self._users.pop(batch_id, None)
                self._left.pop(batch_id, None)
                await backend.aclose()
