"""One call into a container: an exec of the runner, its request, and the frames it answers with."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import aiohttp
import anyio
from aiodocker.exceptions import DockerError

from sphynx.errors import StageError
from sphynx.sandboxes.docker import frames, library

if TYPE_CHECKING:
    from aiodocker.containers import DockerContainer
    from aiodocker.stream import Stream

Take = Callable[[bytes], Awaitable[None] | None]
_DYING_S = 10.0
_SAID = 2_000


class Broken(Exception):
    """The container, or the program in it, ended before it answered. ``said`` is what it left on stderr."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


async def call(
    container: DockerContainer,
    request: Mapping[str, Any],
    *,
    takers: Mapping[bytes, Take] | None = None,
    body: AsyncIterator[bytes] | None = None,
) -> dict[str, Any]:
    """Make a request and give its result. ``takers`` get the bytes of each kind of frame as they come.

    Cancelled, or when a taker raises, what the call has started in the container is killed. ``Broken`` when
    there was no answer.
    """
    try:
        # An exec that is not in a privileged place still starts as root: the runner steps down by itself.
        made = await container.exec(library.runner_command(), stdin=True, user="0:0")
        stream = made.start(detach=False)
        await stream._init()
    except DockerError as error:
        raise Broken(error.message) from None
    except (OSError, aiohttp.ClientError) as error:
        raise _away(error) from None
    reading = _Reading(stream, takers or {})
    try:
        await _converse(stream, request, body, reading)
    except BaseException:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_DYING_S):
            await _kill(stream, reading)
        raise
    finally:
        await stream.close()
    if reading.result is None:
        raise Broken(bytes(reading.said).decode("utf-8", "replace").strip())
    return reading.result


class _Reading:
    """What the container has said so far."""

    def __init__(self, stream: Stream, takers: Mapping[bytes, Take]) -> None:
        self.result: dict[str, Any] | None = None
        self.said = bytearray()
        self._stream = stream
        self._takers = takers
        self._frames = frames.Frames()

    async def until_result(self) -> None:
        """Hand on frames until the result, or the end of the stream."""
        while self.result is None:
            message = await self._next()
            if message is None:
                return
            if message[0] == 2:
                self.said += message[1][: _SAID - len(self.said)]
                continue
            for kind, data in self._frames.feed(message[1]):
                await self._take(kind, data)

    async def _take(self, kind: bytes, data: bytes) -> None:
        if kind == frames.RESULT:
            self.result = json.loads(data)
            return
        taker = self._takers.get(kind)
        if taker is not None:
            waiting = taker(data)
            if inspect.isawaitable(waiting):
                await waiting

    async def ended(self) -> None:
        """Wait for the end of the stream, whatever is still said."""
        while await self._next() is not None:
            pass

    async def _next(self) -> tuple[int, bytes] | None:
        try:
            message = await self._stream.read_out()
        except (OSError, aiohttp.ClientError):
            return None
        return None if message is None else (message.stream, message.data)


async def _converse(
    stream: Stream, request: Mapping[str, Any], body: AsyncIterator[bytes] | None, reading: _Reading
) -> None:
    try:
        await stream.write_in(frames.request(dict(request)))
        if body is not None:
            async for part in body:
                await stream.write_in(frames.piece(part))
            await stream.write_in(frames.piece(b""))
    except (OSError, RuntimeError, AssertionError, aiohttp.ClientError):
        pass  # it has ended already: what it said, or its result, tells why
    await reading.until_result()


async def _kill(stream: Stream, reading: _Reading) -> None:
    try:
        await stream.write_in(b"kill")
        await reading.ended()
    except (OSError, RuntimeError, AssertionError, aiohttp.ClientError):
        return


def _away(error: Exception) -> StageError:
    return StageError(
        f"The container engine cannot be reached: {error or type(error).__name__}",
        stage="sandbox",
        cause="sandbox",
    )
