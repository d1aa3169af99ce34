"""Reading what a process writes: bounded memory, back-pressure, and an end that is ours to choose."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable

from sphynx.contracts import OnChunk

GRACE_S = 0.25
"""How long readers wait for the end of a pipe after its process has ended: a daemon may hold it open."""
_CHUNK = 65_536
_PIPE = 1_048_576
"""What may still be read from a pipe when its grace is over: more than a pipe holds by default."""


class Reader:
    """Reads one descriptor until its end: keeps the first ``keep`` bytes and counts all of them.

    ``on_chunk`` gets every chunk; while an awaitable it returned is pending nothing more is read, so a slow
    consumer slows the process down and memory stays small. ``on_error`` is told when a callback raises.
    """

    def __init__(
        self, fd: int, keep: int, on_chunk: OnChunk | None, on_error: Callable[[BaseException], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._keep = keep
        self._on_chunk = on_chunk
        self._on_error = on_error
        self._consumer: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[None] | None = None
        self.kept = bytearray()
        self.total = 0
        self.open = True
        os.set_blocking(fd, False)
        self._loop.add_reader(fd, self._ready)

    def _ready(self) -> None:
        """Read once. At the end of the pipe the descriptor is closed."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if chunk:
            self._take(chunk)
        else:
            self.close()

    def _take(self, chunk: bytes) -> None:
        self.total += len(chunk)
        room = self._keep - len(self.kept)
        if room > 0:
            self.kept += chunk[:room]
        if self._on_chunk is None:
            return
        try:
            pending = self._on_chunk(chunk)
        except Exception as problem:
            self._fail(problem)
            return
        if pending is not None:
            self._loop.remove_reader(self._fd)
            self._consumer = self._loop.create_task(self._consume(pending))

    async def _consume(self, pending: Awaitable[None]) -> None:
        try:
            await pending
        except Exception as problem:
            self._fail(problem)
        self._consumer = None
        if self.open:
            self._loop.add_reader(self._fd, self._ready)

    def _fail(self, problem: BaseException) -> None:
        self._on_chunk = None
        self._on_error(problem)

    def drain(self, most: int = _PIPE) -> None:
        """Take what is already there, at most ``most`` bytes, without waiting."""
        until = self.total + most
        while self.open and self._consumer is None and self.total < until:
            before = self.total
            self._ready()
            if self.total == before:
                return

    async def _wait_for_end(self) -> None:
        if self.open:
            self._ended = self._loop.create_future()
            await self._ended

    async def finish(self, deadline: float) -> None:
        """Read to the end of the pipe, or until ``deadline`` (loop time) when something still holds it."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._wait_for_end()
        except TimeoutError:
            pass
        until = self.total + _PIPE
        while self.open and self.total < until:
            if self._consumer is not None:
                await asyncio.wait([self._consumer])
            before = self.total
            self._ready()
            if self.total == before:
                break
        if self._consumer is not None:
            await asyncio.wait([self._consumer])
        self.close()

    def close(self) -> None:
        """Stop reading. Safe to call twice."""
        if not self.open:
            return
        self.open = False
        if self._consumer is None:
            self._loop.remove_reader(self._fd)
        os.close(self._fd)
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def cancel(self) -> None:
        """Stop reading and stop the callback that is running."""
        if self._consumer is not None:
            self._consumer.cancel()
        self.close()


async def finish(readers: Iterable[Reader]) -> None:
    """The process has ended: take what it wrote, and give whoever else holds the pipes a short grace."""
    readers = list(readers)
    for reader in readers:
        reader.drain()
    if any(reader.open for reader in readers):
        deadline = asyncio.get_running_loop().time() + GRACE_S
        for reader in readers:
            await reader.finish(deadline)
