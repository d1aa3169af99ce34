"""One local trial's machine: commands, guest functions and files, until it is closed."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.contracts import ExecResult, GuestRequest, OnChunk, OnFrame
from sphynx.errors import StageError
from sphynx.sandboxes import trees
from sphynx.sandboxes.local import wire
from sphynx.sandboxes.local.interpreter import guest_command
from sphynx.sandboxes.local.jobs import Job, Runner, frame_lines, result
from sphynx.sandboxes.local.paths import Folders

_LARGE = 8_000_000
"""Files above this many bytes are read and written in a thread."""
_GUEST_OUTPUT = 1_000_000


InstallOnce = Callable[[str, Callable[[Path], Awaitable[None]]], Awaitable[Path]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trial lives: its folder on the host, and its paths as the trial sees them."""

    folder: Path
    workspace: str
    home: str
    tmp: str
    folders: Folders


class LocalBox:
    """A trial's sandbox on this machine; see ``contracts.Sandbox``.

    A command that cannot be started ends with exit code 127 (not found) or 126, and its ``stderr`` says why.
    File paths are relative to ``workspace`` or absolute below ``workspace``, ``home`` or ``tmp``; one that
    leaves them, also by a link, is a ``PermissionError``.

    Beside the contract there are ``host_workspace``, the workspace's path for this process, and
    ``install_once``, which is ``LocalRoot.install_once``: an install can be run inside at the path it gives.
    """

    backend = "local"
    install_once: Callable[[str, Callable[[Path], Awaitable[None]]], Awaitable[Path]]
    """Where harnesses are installed once for all trials of this machine: see ``LocalRoot.install_once``."""

    def __init__(
        self,
        place: Place,
        runner: Runner,
        *,
        isolation: str,
        warm: bool,
        bundle: Callable[[], AbstractContextManager[str]] | None,
        install_once: InstallOnce,
        remove: Callable[[], Awaitable[None]],
    ) -> None:
        self.id = place.folder.name
        self.isolation = isolation
        self.workspace = place.workspace
        self.home = place.home
        self.tmp = place.tmp
        self.host_workspace = place.folders.outside
        self.install_once = install_once
        self._runner = runner
        self._folders = place.folders
        self._warm = warm
        self._bundle = bundle
        self._remove = remove
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
        job = Job(self._runner)
        out, out_end = job.pipe(keep, on_stdout)
        err, err_end = job.pipe(keep, on_stderr)
        message = {
            "op": "exec",
            "argv": list(argv),
            "cwd": self._folder(cwd),
            "env": dict(env) if env else {},
            "timeout_ms": timeout_ms,
        }
        return result(await job.run(message, [out_end, err_end]), out, err)

    def _folder(self, cwd: str | None) -> str:
        return self.workspace if cwd is None else os.path.join(self.workspace, cwd)

    async def guest(
        self, request: GuestRequest, *, on_frame: OnFrame, on_output: OnChunk | None = None
    ) -> ExecResult:
        """Run a function of the bundle. What it prints is ``stdout``, both streams in one."""
        if self._bundle is None:
            raise StageError(
                "this trial has no bundle to run functions of", stage=request.op, cause="internal"
            )
        asked = {
            "op": request.op,
            "suite": request.suite,
            "case": request.case,
            "workspace": self.workspace,
            "home": self.home,
            "payload": dict(request.payload),
        }
        job = Job(self._runner)
        out, out_end = job.pipe(_GUEST_OUTPUT, on_output)
        held = ExitStack()

        def take(frame: dict[str, Any]) -> None:
            if frame.get("t") == "ready":
                held.close()  # mocks run beside the agent, who must not find the checks meanwhile
            on_frame(frame)

        channel = job.channel(frame_lines(take))
        message = {"op": "guest", "env": dict(request.env), "timeout_ms": request.timeout_ms}
        if self._warm:
            return result(await job.run({**message, "request": asked}, [out_end, channel]), out, None)
        memory = wire.in_memory(json.dumps(asked).encode())
        try:
            with held:
                folder = held.enter_context(self._bundle())
                argv = guest_command(
                    *("--bundle", folder, "--request", "/dev/fd/4", "--result-fd", "3"),
                    hidden=self.isolation != "none",
                )
                message |= {"op": "exec", "argv": argv, "cwd": self.workspace}
                return result(await job.run(message, [out_end, out_end, channel, memory]), out, None)
        finally:
            os.close(memory)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Write one file, making its folders; what was there is replaced."""
        if len(data) > _LARGE:
            await asyncio.to_thread(self._write, path, data, mode)
        else:
            self._write(path, data, mode)

    def _write(self, path: str, data: bytes, mode: int) -> None:
        fd = self._folders.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode, make_folders=True)
        with open(fd, "wb", buffering=0) as file:
            os.fchmod(fd, mode)
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read at most ``limit`` bytes; ``FileNotFoundError`` when it is not there."""
        fd = self._folders.open(path, os.O_RDONLY)
        size = os.fstat(fd).st_size
        if min(size, size if limit is None else limit) > _LARGE:
            return await asyncio.to_thread(_read, fd, limit)
        return _read(fd, limit)

    async def upload(self, source: Path, path: str) -> None:
        """Copy a folder of this machine into the trial; see ``contracts.Sandbox``."""
        await asyncio.to_thread(self._upload, source, path)

    def _upload(self, source: Path, path: str) -> None:
        with trees.opened(str(source)) as outside, tempfile.TemporaryFile() as packed:
            trees.pack(outside, packed)
            packed.seek(0)
            inside = self._folders.folder(path, make=True)
            try:
                trees.unpack(packed, inside)
            finally:
                os.close(inside)

    async def download(self, path: str, target: Path) -> None:
        """Copy a folder of the trial out of it; see ``contracts.Sandbox``."""
        await asyncio.to_thread(self._download, path, target)

    def _download(self, path: str, target: Path) -> None:
        inside = self._folders.folder(path)
        try:
            with tempfile.TemporaryFile() as packed:
                trees.pack(inside, packed)
                packed.seek(0)
                target.mkdir(parents=True, exist_ok=True)
                with trees.opened(str(target)) as outside:
                    trees.unpack(packed, outside)
        finally:
            os.close(inside)

    async def close(self) -> None:
        """Kill every process of the trial and remove its files. Goes on when the caller is cancelled."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._runner.close()
        await self._remove()


def _read(fd: int, limit: int | None) -> bytes:
    with open(fd, "rb") as file:
        return file.read(-1 if limit is None else limit)
