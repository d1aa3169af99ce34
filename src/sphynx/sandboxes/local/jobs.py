"""One job of a trial, from its pipes to its result."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sphynx.contracts import ExecResult, OnChunk, OnFrame
from sphynx.sandboxes.local.link import Ended
from sphynx.sandboxes.local.output import Reader, finish

_LONGEST_FRAME = 16_000_000


class Runner(Protocol):
    """Starts jobs and ends them all: a supervisor's link, or process groups where there is none."""

    async def start(
        self, message: dict[str, Any], files: Sequence[int]
    ) -> tuple[int, asyncio.Future[Ended]]: ...
    def kill(self, number: int) -> None: ...
    async def close(self) -> None: ...


_ROOM = 262_144
"""Bytes a pipe holds, where the system lets one say so."""


def _widen(pipe: int) -> None:
    """Make room in a pipe: programs that run on node lose what does not fit when they exit."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _ROOM)


class Job:
    """Make its pipes, then ``run`` it. A callback that raises ends the job, and ``run`` raises it."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._number = 0
        self._theirs: list[int] = []
        self._readers: list[Reader] = []
        self._error: BaseException | None = None

    def pipe(self, keep: int, on_chunk: OnChunk | None) -> tuple[Reader, int]:
        """A reader and the end to write to."""
        ours, theirs = os.pipe()
        _widen(theirs)
        self._theirs.append(theirs)
        return self._read(ours, keep, on_chunk), theirs

    def channel(self, on_chunk: OnChunk) -> int:
        """The other end of a socket: unlike a pipe, no other process can open it by way of /proc."""
        ours, theirs = socket.socketpair()
        self._theirs.append(theirs.detach())
        self._read(ours.detach(), 0, on_chunk)
        return self._theirs[-1]

    def _read(self, fd: int, keep: int, on_chunk: OnChunk | None) -> Reader:
        reader = Reader(fd, keep, on_chunk, self._failed)
        self._readers.append(reader)
        return reader

    def _failed(self, problem: BaseException) -> None:
        self._error = self._error or problem
        self._runner.kill(self._number)

    async def run(self, message: dict[str, Any], files: Sequence[int]) -> Ended:
        """Start it and wait for its process, then for what it wrote. Cancelled, it is killed."""
        try:
            try:
                self._number, ended = await self._runner.start(message, files)
            finally:
                self._close_theirs()
            if self._error is not None:
                self._runner.kill(self._number)
            how = await ended
            await finish(self._readers)
        except BaseException:
            self._runner.kill(self._number)
            for reader in self._readers:
                reader.cancel()
            raise
        if self._error is not None:
            raise self._error
        return how

    def _close_theirs(self) -> None:
        for fd in self._theirs:
            os.close(fd)
        self._theirs = []


def result(ended: Ended, out: Reader, err: Reader | None) -> ExecResult:
    """What the caller is told; why a command never started is its standard error."""
    stderr = bytes(err.kept) if err is not None else b""
    if ended.problem:
        stderr += ended.problem.encode(errors="replace") + b"\n"
    return ExecResult(
        exit_code=ended.exit_code,
        stdout=bytes(out.kept),
        stderr=stderr,
        stdout_bytes=out.total,
        stderr_bytes=max(err.total if err is not None else 0, len(stderr)),
        timed_out=ended.timed_out,
        duration_ms=ended.duration_ms,
    )


def frame_lines(on_frame: OnFrame) -> Callable[[bytes], None]:
    """Takes chunks, gives ``on_frame`` each whole JSON object. A line longer than any frame is dropped."""
    pending = bytearray()
    dropping = False

    def feed(chunk: bytes) -> None:
        nonlocal dropping
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            pending.extend(chunk[start:end])
            if not dropping:
                _deliver(bytes(pending), on_frame)
            pending.clear()
            dropping = False
            start = end + 1
        pending.extend(chunk[start:])
        if len(pending) > _LONGEST_FRAME:
            pending.clear()
            dropping = True

    return feed


def _deliver(line: bytes, on_frame: OnFrame) -> None:
    try:
        frame = json.loads(line)
    except ValueError:
        return
    if isinstance(frame, dict):
        on_frame(frame)
