"""A sandbox that notes what a harness starts in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sphynx.contracts import ExecResult, GuestRequest, OnChunk, OnFrame, Sandbox


class WatchedBox:
    """Passes everything on to ``box``; ``started`` holds the arguments of every process."""

    def __init__(self, box: Sandbox) -> None:
        self._box = box
        self.started: list[list[str]] = []
        self.id = box.id
        self.backend = box.backend
        self.isolation = box.isolation
        self.workspace = box.workspace
        self.home = box.home
        self.tmp = box.tmp

    def __getattr__(self, name: str) -> Any:
        # What a backend offers beside the contract, such as a shared place for installs.
        return getattr(self._box, name)

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
        self.started.append(list(argv))
        return await self._box.exec(
            argv, cwd=cwd, env=env, timeout_ms=timeout_ms, on_stdout=on_stdout, on_stderr=on_stderr, keep=keep
        )

    async def guest(
        self, request: GuestRequest, *, on_frame: OnFrame, on_output: OnChunk | None = None
    ) -> ExecResult:
        return await self._box.guest(request, on_frame=on_frame, on_output=on_output)

    async def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        await self._box.write(path, data, mode=mode)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        return await self._box.read(path, limit=limit)

    async def upload(self, source: Path, path: str) -> None:
        await self._box.upload(source, path)

    async def download(self, path: str, target: Path) -> None:
        await self._box.download(path, target)

    async def close(self) -> None:
        await self._box.close()
