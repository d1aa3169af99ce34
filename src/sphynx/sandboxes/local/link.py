"""The host's ends of the sockets: to the zygote, and to one supervisor per trial."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.errors import CompileError, StageError
from sphynx.sandboxes.local import interpreter, wire

IMPORT_LIMIT_S = 120.0
_CLOSE_S = 15.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended: ``exit_code`` is ``128 + n`` for signal ``n``, ``problem`` why it never started."""

    exit_code: int
    timed_out: bool
    duration_ms: float
    problem: str = ""


_KILLED_TEXT = "the process that watches over the trial was killed"
KILLED = Ended(exit_code=137, timed_out=False, duration_ms=0.0)


class Link:
    """The host's end of one supervisor's control socket."""

    def __init__(self, control: socket.socket, errors: int = -1) -> None:
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._errors = errors
        self._jobs: dict[int, asyncio.Future[Ended]] = {}
        self._numbers = 0
        self._trial_ended: asyncio.Future[None] = self._loop.create_future()
        self.alive = True
        control.setblocking(False)
        self._loop.add_reader(control.fileno(), self._read)

    async def open(self, env: Mapping[str, str], workspace: str) -> None:
        """Begin a trial."""
        self._trial_ended = self._loop.create_future()
        await self._send({"op": "open", "env": dict(env), "workspace": workspace})

    async def start(self, message: dict[str, Any], files: Sequence[int]) -> tuple[int, asyncio.Future[Ended]]:
        """Ask for a job; gives its number and how it will have ended."""
        self._numbers += 1
        number = self._numbers
        ended: asyncio.Future[Ended] = self._loop.create_future()
        self._jobs[number] = ended
        try:
            await self._send({**message, "id": number}, files)
        except BaseException:
            self._jobs.pop(number, None)
            raise
        return number, ended

    async def _send(self, message: dict[str, Any], files: Sequence[int] = ()) -> None:
        if not self.alive:
            raise lost(_KILLED_TEXT)
        await send_soon(self._control, message, files)

    def kill(self, number: int) -> None:
        """End one job and its tree. Nothing happens when it is over."""
        if number in self._jobs:
            self._tell({"op": "kill", "id": number})

    def _tell(self, message: dict[str, Any]) -> None:
        if not self.alive:
            return
        try:
            wire.send(self._control, message)
        except BlockingIOError:
            self._loop.call_later(0.01, self._tell, message)
        except OSError:
            return  # it is gone, and the end of file tells so

    def _read(self) -> None:
        try:
            message, _ = wire.receive(self._control)
        except BlockingIOError:
            return
        except OSError:
            message = None
        if message is None:
            self.drop()
        elif "ended" in message:
            self._end_jobs(None)
            if message["left"]:
                self.drop()
            else:
                _settle(self._trial_ended)
        else:
            ended = self._jobs.pop(message["id"], None)
            if ended is not None and not ended.done():
                ended.set_result(_ended(message))

    def _end_jobs(self, problem: Exception | None) -> None:
        jobs, self._jobs = self._jobs, {}
        for ended in jobs.values():
            if not ended.done():
                ended.set_result(KILLED) if problem is None else ended.set_exception(problem)

    def drop(self) -> None:
        """Let go of the supervisor: it kills everything it started and exits."""
        if not self.alive:
            return
        self.alive = False
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        self._end_jobs(lost(_KILLED_TEXT + last_words(self._errors)))
        _settle(self._trial_ended)
        if self._errors >= 0:
            os.close(self._errors)

    async def end(self) -> None:
        """End the trial and wait until every process of it is dead. Afterwards another may be opened."""
        self._tell({"op": "end"})
        if self.alive:
            await asyncio.wait([self._trial_ended], timeout=_CLOSE_S)
        if not self._trial_ended.done():
            self.drop()


class Lease:
    """A supervisor in the hands of one trial; ``give_back`` is told when the trial is over."""

    def __init__(self, link: Link, give_back: Callable[[Link], None]) -> None:
        self._link = link
        self._give_back = give_back
        self._closed = False

    async def start(self, message: dict[str, Any], files: Sequence[int]) -> tuple[int, asyncio.Future[Ended]]:
        """See ``Link.start``."""
        if self._closed:
            raise lost("the sandbox is closed")
        return await self._link.start(message, files)

    def kill(self, number: int) -> None:
        """See ``Link.kill``."""
        if not self._closed:
            self._link.kill(number)

    async def close(self) -> None:
        """Kill and reap every process of the trial. Call it once."""
        self._closed = True
        await self._link.end()
        self._give_back(self._link)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _ended(message: dict[str, Any]) -> Ended:
    if "error" in message:
        return Ended(message["code"], timed_out=False, duration_ms=0.0, problem=message["error"])
    code = os.waitstatus_to_exitcode(message["status"])
    return Ended(
        137 if message["timed_out"] else (128 - code if code < 0 else code),
        message["timed_out"],
        message["ms"],
    )


def last_words(errors: int) -> str:
    """The last line a process wrote to the memory file ``errors``, behind a colon; empty without one."""
    if errors < 0:
        return ""
    lines = os.pread(errors, 20_000, 0).decode(errors="replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""


def import_too_slow() -> CompileError:
    return CompileError(
        f"importing the eval file for its checks took more than {IMPORT_LIMIT_S:.0f} s",
        hint="move slow work from module level into the functions that need it",
    )


def import_failed(failed: Mapping[str, str | None]) -> CompileError:
    return CompileError(failed["message"] or "the eval file cannot be imported", hint=failed["hint"])


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
        self._idle: list[Link] = []
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
            async with asyncio.timeout(IMPORT_LIMIT_S):
                answer = await self._answer()
        except TimeoutError:
            raise import_too_slow() from None
        if answer is None:
            raise lost(f"the process that starts commands ended at once{last_words(self._errors)}")
        if "failed" in answer:
            raise import_failed(answer["failed"])
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

    async def lease(self, env: Mapping[str, str], workspace: str) -> Lease:
        """A supervisor for one trial: one that has just ended another, or a new one."""
        while True:
            used = bool(self._idle)
            link = self._idle.pop() if used else await self._start({"op": "fork"}, [])
            try:
                await link.open(env, workspace)
                return Lease(link, self._keep)
            except BaseException as problem:
                link.drop()
                if not (used and isinstance(problem, StageError)):  # one killed while idle is replaced
                    raise

    async def isolated(
        self, argv: Sequence[str], files: Sequence[int], env: Mapping[str, str], workspace: str
    ) -> Lease:
        """A supervisor that ``argv`` starts: descriptor 3 is its control socket, ``files`` are 4, 5, ..."""
        errors = os.memfd_create("sphynx-isolated")
        link = await self._start({"op": "isolate", "argv": list(argv)}, [errors, *files], errors)
        await link.open(env, workspace)
        return Lease(link, Link.drop)

    async def _start(self, message: dict[str, Any], files: Sequence[int], errors: int = -1) -> Link:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            try:
                await send_soon(self._sock, message, [there.fileno(), *files])
            except BaseException:
                here.close()
                raise
        return Link(here, errors)

    def _keep(self, link: Link) -> None:
        if link.alive:
            self._idle.append(link)

    async def close(self) -> None:
        """Let go of it and wait until its last supervisor has ended."""
        self._sock.close()
        while self._idle:
            self._idle.pop().drop()
        end = asyncio.get_running_loop().time() + _CLOSE_S
        pause = 0.001
        while self._process.poll() is None and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._errors)
