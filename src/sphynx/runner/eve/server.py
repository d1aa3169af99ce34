"""Starting ``eve dev`` and waiting until it answers."""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sphynx.errors import SphynxError
from sphynx.runner.eve import http
from sphynx.runner.eve.output import OutputTail

if TYPE_CHECKING:
    from subprocess import Popen
    from threading import Thread

START_TIMEOUT_MS = 120_000
_POLL_S = 0.2
_DRAIN_S = 2.0


class EveServer:
    """A running ``eve dev`` at ``url``. ``await close()`` ends it, and so does leaving ``async with``."""

    def __init__(self, process: Popen[bytes], port: int, tail: OutputTail, readers: list[Thread]) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.pid = process.pid
        self._process = process
        self._tail = tail
        self._readers = readers

    async def __aenter__(self) -> EveServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, *, grace_s: float = 5.0) -> None:
        """SIGTERM, ``grace_s`` seconds of grace, then SIGKILL. Safe to call twice."""
        from asyncio import sleep

        if self._process.poll() is None:
            self._process.terminate()
        waited = 0.0
        while self._process.poll() is None:
            if waited >= grace_s:
                self._process.kill()
            await sleep(0.02)
            waited += 0.02

    async def ready(self, timeout_ms: int) -> None:
        """Return once the server answers its health check; ``SphynxError`` when it ends or takes too long."""
        from asyncio import sleep
        from time import monotonic

        ends = monotonic() + timeout_ms / 1000
        while self._process.poll() is None:
            if await self._healthy(min(5.0, max(0.05, ends - monotonic()))):
                return
            if monotonic() >= ends:
                raise SphynxError(f"eve dev did not answer within {timeout_ms} ms", hint=self._said())
            await sleep(_POLL_S)
        await self._drained()
        said = self._said() or "it printed nothing"
        raise SphynxError(f"eve dev ended with exit code {self._process.returncode}: {said}")

    async def _healthy(self, timeout_s: float) -> bool:
        try:
            answer = await http.send("GET", f"{self.url}/eve/v1/health", timeout_s=timeout_s)
        except (OSError, TimeoutError, SphynxError):
            return False
        answer.close()
        return answer.status == 200

    async def _drained(self) -> None:
        """Wait for what is still in the pipes; a grandchild may hold them open."""
        from asyncio import sleep

        waited = 0.0
        while waited < _DRAIN_S and any(reader.is_alive() for reader in self._readers):
            await sleep(0.02)
            waited += 0.02

    def _said(self) -> str:
        return " ".join(self._tail.last(5))


async def serve_eve(
    *,
    cwd: str | os.PathLike[str] = ".",
    port: int | None = None,
    timeout_ms: int = START_TIMEOUT_MS,
    resume: bool = False,
) -> EveServer:
    """Start the eve agent in ``cwd`` on loopback and wait until it answers.

    Its output is mirrored to stderr. Without ``port`` a free one is taken. ``resume`` makes the sessions of
    an earlier server in this folder reachable. Raises ``SphynxError`` when eve is
    not installed there, ends before it answers, or takes longer than ``timeout_ms``.
    """
    folder = Path(cwd).absolute()
    program = folder / "node_modules" / ".bin" / "eve"
    if not program.exists():
        raise SphynxError(
            f"eve is not installed in {folder}", hint="run npm install there, with eve in package.json"
        )
    taken = _free_port() if port is None else port
    process = _start(program, folder, taken, resume)
    tail = OutputTail()
    server = EveServer(process, taken, tail, _mirror(process, tail))
    try:
        await server.ready(timeout_ms)
    except BaseException:
        await server.close()
        raise
    return server


def _start(program: Path, folder: Path, port: int, resume: bool) -> Popen[bytes]:
    import subprocess

    try:
        # It stays in our process group, so that what ends the trial ends it too.
        return subprocess.Popen(
            [program, "dev", "--no-ui", "--logs", "none", "--port", str(port), *(["--resume"] * resume)],
            cwd=folder,
            env={**os.environ, "EVE_TELEMETRY_DISABLED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise SphynxError(f"{program} cannot be started: {error.strerror}") from None


def _mirror(process: Popen[bytes], tail: OutputTail) -> list[Thread]:
    """Copy both streams to stderr and into ``tail``, in threads: the pipes may outlive the process."""
    from threading import Thread

    readers: list[Thread] = []
    for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
        assert pipe is not None
        reader = Thread(target=_copy, args=(name, pipe, tail), daemon=True)
        reader.start()
        readers.append(reader)
    return readers


def _copy(name: str, pipe: IO[bytes], tail: OutputTail) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with pipe:
        while data := os.read(pipe.fileno(), 65_536):
            tail.feed(name, data)
            sys.stderr.write(decoder.decode(data))
            sys.stderr.flush()


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
