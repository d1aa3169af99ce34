"""The host's ends of the sockets: to the zygote, and to one supervisor per trial."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.errors import CompileError, StageError
from sphynx.sandboxes.local import interpreter, wire

_START_S = 120.0
_CLOSE_S = 15.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended: ``exit_code`` is ``128 + n`` for signal ``n``, ``problem`` why it never started."""

    exit_code: int
    timed_out: bool
    duration_ms: float
    problem: str = ""


KILLED = Ended(exit_code=137, timed_out=False, duration_ms=0.0)


class Link:
    """One supervisor as the host sees it."""

    def __init__(self, control: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._jobs: dict[int, asyncio.Future[Ended]] = {}
        self._numbers = 0
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._closing = False
        control.setblocking(False)
        self._loop.add_reader(control.fileno(), self._read)

    async def start(self, message: dict[str, Any], files: Sequence[int]) -> tuple[int, asyncio.Future[Ended]]:
        """Ask for a job; gives its number and how it will have ended."""
        if self._closing or self._gone.done():
            raise lost("the sandbox is closed")
        self._numbers += 1
        number = self._numbers
        ended: asyncio.Future[Ended] = self._loop.create_future()
        self._jobs[number] = ended
        try:
            await self.send({**message, "id": number}, files)
        except BaseException:
            del self._jobs[number]
            raise
        return number, ended

    async def send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        await send_soon(self._control, message, files)

    def kill(self, number: int) -> None:
        """End one job and its tree. Nothing happens when it is over."""
        if number not in self._jobs or self._closing:
            return
        try:
            wire.send(self._control, {"op": "kill", "id": number})
        except BlockingIOError:
            self._loop.call_later(0.01, self.kill, number)
        except OSError:
            return

    def _read(self) -> None:
        try:
            message, _ = wire.receive(self._control)
        except BlockingIOError:
            return
        except OSError:
            message = None
        if message is None or "closed" in message:
            self._end()
            return
        ended = self._jobs.pop(message["id"], None)
        if ended is not None and not ended.done():
            ended.set_result(_ended(message))

    def _end(self) -> None:
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        for ended in self._jobs.values():
            if ended.done():
                continue
            if self._closing:
                ended.set_result(KILLED)
            else:
                ended.set_exception(lost("the trial's supervisor was killed"))
        self._jobs.clear()
        if not self._gone.done():
            self._gone.set_result(None)

    def let_go(self) -> None:
        """Close our side of the socket: the supervisor kills everything it started."""
        if self._closing:
            return
        self._closing = True
        if not self._gone.done():
            self._control.shutdown(socket.SHUT_WR)

    async def close(self) -> None:
        """Let go and wait until every process of the trial is dead."""
        self.let_go()
        await asyncio.wait([self._gone], timeout=_CLOSE_S)
        if not self._gone.done():
            self._end()


def _ended(message: dict[str, Any]) -> Ended:
    if "error" in message:
        return Ended(message["code"], timed_out=False, duration_ms=0.0, problem=message["error"])
    code = os.waitstatus_to_exitcode(message["status"])
    return Ended(
        137 if message["timed_out"] else (128 - code if code < 0 else code),
        message["timed_out"],
        message["ms"],
    )


def lost(why: str) -> StageError:
    return StageError(why, stage="sandbox", cause="sandbox")


async def send_soon(sock: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Send, waiting while the other side has too much to read."""
    while True:
        try:
            wire.send(sock, message, files)
            return
        except BlockingIOError:
            await asyncio.sleep(0.002)
        except OSError as problem:
            raise lost(f"the process that starts commands is gone: {problem.strerror}") from None


class ZygoteLink:
    """A running zygote: opens supervisors."""

    def __init__(self, process: subprocess.Popen[bytes], sock: socket.socket, errors: int) -> None:
        self._process = process
        self._sock = sock
        self._errors = errors
        self.warm = False
        self.why_not_warm = ""

    @classmethod
    async def start(cls, bundle: Path | None, *, fresh: str, env: Mapping[str, str], cwd: Path) -> ZygoteLink:
        """Start one. ``CompileError`` when the bundle cannot be imported there."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        errors = os.memfd_create("sphynx-zygote")
        with there:
            process = subprocess.Popen(  # noqa: ASYNC220 - a millisecond, once per run
                interpreter.part_command("zygote", there.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=env,
                cwd=cwd,
                pass_fds=[there.fileno()],
                start_new_session=True,
            )
        here.setblocking(False)
        link = cls(process, here, errors)
        try:
            await link._greet(bundle, fresh)
        except BaseException:
            link._sock.close()
            process.kill()
            process.wait()
            os.close(errors)
            raise
        return link

    async def _greet(self, bundle: Path | None, fresh: str) -> None:
        await send_soon(self._sock, {"bundle": None if bundle is None else str(bundle), "fresh": fresh})
        try:
            async with asyncio.timeout(_START_S):
                answer = await self._answer()
        except TimeoutError:
            raise CompileError(
                f"importing the eval file for its checks took more than {_START_S:.0f} s",
                hint="move slow work from module level into the functions that need it",
            ) from None
        if answer is None:
            raise lost(f"the process that starts commands ended at once: {self._last_words()}")
        if "failed" in answer:
            raise CompileError(answer["failed"]["message"], hint=answer["failed"]["hint"])
        self.warm = answer["warm"]
        self.why_not_warm = answer["why"]

    async def _answer(self) -> dict[str, Any] | None:
        loop = asyncio.get_running_loop()
        readable = loop.create_future()
        loop.add_reader(self._sock.fileno(), lambda: readable.done() or readable.set_result(None))
        try:
            await readable
        finally:
            loop.remove_reader(self._sock.fileno())
        return wire.receive(self._sock)[0]

    def _last_words(self) -> str:
        lines = os.pread(self._errors, 20_000, 0).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    async def open(self, message: dict[str, Any], files: Sequence[int] = ()) -> Link:
        """Fork a supervisor, or with ``op`` ``isolate`` start one in bubblewrap."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            try:
                await send_soon(self._sock, message, [there.fileno(), *files])
            except BaseException:
                here.close()
                raise
        return Link(here)

    async def close(self) -> None:
        """Let go of it and wait until its last supervisor has ended."""
        self._sock.close()
        end = asyncio.get_running_loop().time() + _CLOSE_S
        pause = 0.001
        while self._process.poll() is None and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._errors)
