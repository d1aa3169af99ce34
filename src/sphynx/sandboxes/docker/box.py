"""One trial's container: commands, guest functions, files and folders, until it is closed."""

from __future__ import annotations

import asyncio
import errno
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import anyio.to_thread

from sphynx.contracts import BundleRef, ExecResult, GuestRequest, OnChunk, OnFrame
from sphynx.errors import StageError
from sphynx.sandboxes import trees
from sphynx.sandboxes.docker import calls, frames, layout
from sphynx.sandboxes.docker.output import Kept
from sphynx.sandboxes.local.jobs import frame_lines

if TYPE_CHECKING:
    from aiodocker.containers import DockerContainer

_GUEST_OUTPUT = 1_000_000
_KILLED = 137
_SPOOLED = 8_000_000
MOST_DOWNLOADED = 2 * 2**30
"""Bytes of a folder taken out of a container at most."""


class DockerBox:
    """A trial's sandbox in a container; see ``contracts.Sandbox``.

    Commands and functions run as the user the image names, watched over by a program that runs as root. A
    command that cannot be started ends with exit code 127 (not found) or 126, and its ``stderr`` says why.
    ``id`` is the container's id, by which another process can attach to it.
    """

    backend = "docker"
    isolation = "docker"
    workspace = layout.WORKSPACE
    home = layout.HOME
    tmp = layout.TMP

    def __init__(
        self,
        container: DockerContainer,
        *,
        user: str,
        env: Mapping[str, str],
        bundle: BundleRef | None,
        remove: Callable[[], Awaitable[None]],
        why_gone: Callable[[], Awaitable[str]],
    ) -> None:
        self.id = str(container.id)
        self._container = container
        self._user = user
        self._env = dict(env)
        self._bundle = bundle
        self._remove = remove
        self._why_gone = why_gone
        self._closing: asyncio.Task[None] | None = None

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        on_stdout: OnChunk | None = None,
        on_stderr: OnChunk | None = None,
        keep: int = 1_000_000,
    ) -> ExecResult:
        """Run ``argv``; ``timeout_ms`` and cancellation kill its whole tree (exit code 137)."""
        out, err = Kept(keep, on_stdout), Kept(keep, on_stderr)
        request = {
            "op": "exec", "argv": list(argv), "cwd": cwd, "env": {**self._env, **(env or {})},
            "timeout_ms": timeout_ms, "keep_out": out.wanted, "keep_err": err.wanted,
        }  # fmt: skip
        done = await self._ended(request, {frames.OUT: out.take, frames.ERR: err.take})
        return _result(done, out, err)

    async def guest(
        self, request: GuestRequest, *, on_frame: OnFrame, on_output: OnChunk | None = None
    ) -> ExecResult:
        """Run a function of the bundle. What it prints is ``stdout``, both streams in one."""
        if self._bundle is None:
            raise StageError(
                "this trial has no bundle to run functions of", stage=request.op, cause="internal"
            )
        asked = {
            "op": request.op, "suite": request.suite, "case": request.case, "workspace": self.workspace,
            "home": self.home, "payload": dict(request.payload),
        }  # fmt: skip
        out = Kept(_GUEST_OUTPUT, on_output)
        with tempfile.SpooledTemporaryFile(_SPOOLED) as packed:
            await anyio.to_thread.run_sync(_pack, self._bundle.path, packed)
            done = await self._ended(
                {
                    "op": "guest", "request": asked, "env": {**self._env, **request.env},
                    "timeout_ms": request.timeout_ms,
                },
                {frames.OUT: out.take, frames.CHANNEL: frame_lines(on_frame)},
                body=_pieces(packed),
            )  # fmt: skip
        if done.get("failed"):
            on_frame({"t": "failed", "message": done["failed"], "status": None})
            on_frame({"t": "done"})
        return _result(done, out, Kept(0, None))

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file, making its folders; what was there is replaced."""
        request = {"op": "write", "path": path, "mode": mode}
        await self._done(request, path, body=_slices(data))

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read at most ``limit`` bytes; ``FileNotFoundError`` when it is not there."""
        parts: list[bytes] = []
        await self._done({"op": "read", "path": path, "limit": limit}, path, take=parts.append)
        return b"".join(parts)

    async def upload(self, source: Path, path: str) -> None:
        """Copy the folder ``source`` of this machine to the folder ``path``; see ``contracts.Sandbox``."""
        with tempfile.TemporaryFile() as packed:
            await anyio.to_thread.run_sync(_pack, source, packed)
            await self._done({"op": "upload", "path": path}, path, body=_pieces(packed))

    async def download(self, path: str, target: Path) -> None:
        """Copy the folder ``path`` to the folder ``target`` of this machine; see ``contracts.Sandbox``."""
        room = MOST_DOWNLOADED
        with tempfile.TemporaryFile() as packed:

            def take(data: bytes) -> None:
                nonlocal room
                room -= len(data)
                if room < 0:
                    raise OSError(errno.EFBIG, f"more than {MOST_DOWNLOADED} bytes", path)
                packed.write(data)

            await self._done({"op": "download", "path": path}, path, take=take)
            await anyio.to_thread.run_sync(_unpack, packed, target)

    async def close(self) -> None:
        """Remove the container with all in it. Goes on when the caller is cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._remove()

    async def _done(
        self,
        request: Mapping[str, Any],
        path: str,
        *,
        take: calls.Take | None = None,
        body: AsyncIterator[bytes] | None = None,
    ) -> None:
        """A request about files; ``OSError`` as the container has it."""
        takers = {frames.DATA: take} if take is not None else {}
        done = await self._call(request, takers, body)
        if "errno" in done:
            raise OSError(done["errno"] or errno.EIO, done["reason"], path)

    async def _ended(
        self,
        request: Mapping[str, Any],
        takers: Mapping[bytes, calls.Take],
        body: AsyncIterator[bytes] | None = None,
    ) -> dict[str, Any]:
        """A request to run something. What the container's end cuts short was killed."""
        done = await self._call(request, takers, body)
        if "errno" in done:
            raise StageError(f"The container: {done['reason']}", stage="sandbox", cause="sandbox")
        return done

    async def _call(
        self,
        request: Mapping[str, Any],
        takers: Mapping[bytes, calls.Take],
        body: AsyncIterator[bytes] | None = None,
    ) -> dict[str, Any]:
        if self._closing is not None:
            raise StageError("the sandbox is closed", stage="sandbox", cause="internal")
        try:
            request = {**request, "user": self._user}
            return await calls.call(self._container, request, takers=takers, body=body)
        except calls.Broken as error:
            if self._closing is None:
                why = await self._why_gone()
                if why or request["op"] not in ("exec", "guest"):
                    text = why or f"The container did not answer: {error.said}"
                    raise StageError(text, stage="sandbox", cause="sandbox") from None
            # Killed with the container, or by the agent, who may do as root what it likes in there.
            return {"exit_code": _KILLED, "timed_out": False, "duration_ms": 0.0}


def _result(done: Mapping[str, Any], out: Kept, err: Kept) -> ExecResult:
    stderr = bytes(err.kept)
    if done.get("problem"):
        stderr += done["problem"].encode(errors="replace") + b"\n"
    return ExecResult(
        exit_code=done["exit_code"],
        stdout=bytes(out.kept),
        stderr=stderr,
        stdout_bytes=done.get("stdout_bytes", out.total),
        stderr_bytes=max(done.get("stderr_bytes", err.total), len(stderr)),
        timed_out=done["timed_out"],
        duration_ms=done["duration_ms"],
    )


def _pack(source: Path, target: IO[bytes]) -> None:
    with trees.opened(str(source)) as folder:
        trees.pack(folder, target)
    target.seek(0)


def _unpack(source: IO[bytes], target: Path) -> None:
    source.seek(0)
    target.mkdir(parents=True, exist_ok=True)
    with trees.opened(str(target)) as folder:
        trees.unpack(source, folder, most_bytes=MOST_DOWNLOADED)


async def _pieces(file: IO[bytes]) -> AsyncIterator[bytes]:
    while part := file.read(frames.PIECE):
        yield part


async def _slices(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), frames.PIECE):
        yield data[start : start + frames.PIECE]
