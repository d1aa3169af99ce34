"""Jobs without a supervisor, for systems that have neither /proc nor subreapers (macOS): best effort.

Every command leads a process group. While commands run, ``ps`` is read twice a second and everything that
descends from them is remembered; at the end the groups and all remembered processes are killed. A process
that double-forks into a session of its own between two looks escapes, as does everything when the host is
killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sphynx.sandboxes.local.link import Ended, lost
from sphynx.sandboxes.local.supervisor import NotStarted, find_program

_LOOK_S = 0.5
_KILL_S = 8.0
_RENUMBER = (
    "import fcntl, os, sys; high = [fcntl.fcntl(int(n), fcntl.F_DUPFD, 64) for n in sys.argv[1].split(',')]; "
    "[os.dup2(fd, 3 + place) for place, fd in enumerate(high)]; os.execv(sys.argv[2], sys.argv[2:])"
)

Process = tuple[int, int, str]
"""Parent, group and start time."""


class Census:
    """The processes of this machine as ``ps`` gives them, read at most every so often for all trials."""

    def __init__(self) -> None:
        self._seen: dict[int, Process] = {}
        self._at = float("-inf")
        self._reading = asyncio.Lock()

    async def look(self, max_age_s: float) -> dict[int, Process]:
        """Every process by its number."""
        async with self._reading:
            if time.monotonic() - self._at > max_age_s:
                self._seen = await asyncio.to_thread(_read)
                self._at = time.monotonic()
        return self._seen


def _read() -> dict[int, Process]:
    asked = subprocess.run(["ps", "-axo", "pid=,ppid=,pgid=,lstart="], capture_output=True, check=False)
    found: dict[int, Process] = {}
    for line in asked.stdout.decode(errors="replace").splitlines():
        fields = line.split(None, 3)
        if len(fields) == 4:
            found[int(fields[0])] = (int(fields[1]), int(fields[2]), fields[3])
    return found


class GroupRunner:
    """Starts a trial's jobs in process groups of their own; a ``jobs.Runner``."""

    def __init__(self, env: Mapping[str, str], census: Census) -> None:
        self._env = dict(env)
        self._census = census
        self._numbers = 0
        self._running: dict[int, asyncio.subprocess.Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._groups: set[int] = set()
        self._known: dict[int, str] = {}
        self._watch: asyncio.Task[None] | None = None
        self._closed = False

    async def start(self, message: dict[str, Any], files: Sequence[int]) -> tuple[int, asyncio.Future[Ended]]:
        """See ``link.Link.start``."""
        if self._closed:
            raise lost("the sandbox is closed")
        self._numbers += 1
        ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        try:
            process = await self._spawn(message, files)
        except NotStarted as problem:
            ended.set_result(Ended(problem.code, timed_out=False, duration_ms=0.0, problem=problem.message))
            return self._numbers, ended
        self._running[self._numbers] = process
        self._groups.add(process.pid)
        self._keep(asyncio.create_task(self._wait(self._numbers, process, message["timeout_ms"], ended)))
        if self._watch is None:
            self._watch = asyncio.create_task(self._remember())
        return self._numbers, ended

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _spawn(self, message: dict[str, Any], files: Sequence[int]) -> asyncio.subprocess.Process:
        argv, env, cwd = message["argv"], {**self._env, **message["env"]}, message["cwd"]
        if not os.path.isdir(cwd):
            raise NotStarted(f'cannot change to folder "{cwd}": No such file or directory', 126)
        argv = [find_program(argv[0], env.get("PATH", os.defpath), cwd), *argv[1:]]
        others = tuple(files[2:])
        if others:
            argv = [sys.executable, "-P", "-S", "-c", _RENUMBER, ",".join(map(str, others)), *argv]
        try:
            return await asyncio.create_subprocess_exec(
                *argv,
                stdin=subprocess.DEVNULL,
                stdout=files[0],
                stderr=files[1],
                cwd=cwd,
                env=env,
                pass_fds=others,
                start_new_session=True,
            )
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else problem
            raise NotStarted(f'cannot run "{message["argv"][0]}": {reason}', 126) from None

    async def _wait(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        timeout_ms: int | None,
        ended: asyncio.Future[Ended],
    ) -> None:
        began = time.monotonic()
        timed_out = False
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                code = await process.wait()
        except TimeoutError:
            timed_out = True
            await self._kill_tree(process.pid)
            code = await process.wait()
        self._running.pop(number, None)
        exit_code = 137 if timed_out else (128 - code if code < 0 else code)
        if not ended.done():
            ended.set_result(Ended(exit_code, timed_out, (time.monotonic() - began) * 1000))

    def kill(self, number: int) -> None:
        """End one job and what descends from it."""
        process = self._running.get(number)
        if process is not None:
            self._keep(asyncio.create_task(self._kill_tree(process.pid)))

    async def _kill_tree(self, leader: int) -> None:
        seen = await self._census.look(0.0)
        _signal_group(leader)
        for pid in _below({leader}, seen):
            _signal(pid)

    async def _remember(self) -> None:
        while True:
            self._note(await self._census.look(_LOOK_S / 2))
            await asyncio.sleep(_LOOK_S)

    def _note(self, seen: dict[int, Process]) -> set[int]:
        """Remember what belongs to this trial; gives what of it is alive."""
        self._known = {pid: at for pid, at in self._known.items() if pid in seen and seen[pid][2] == at}
        ours = {pid for pid, (_, group, _) in seen.items() if group in self._groups} | set(self._known)
        alive = _below(ours, seen)
        self._known.update({pid: seen[pid][2] for pid in alive})
        return alive

    async def close(self) -> None:
        """Kill what is known of the trial, until nothing of it is left."""
        self._closed = True
        if self._watch is None:
            return
        self._watch.cancel()
        await asyncio.wait([self._watch])
        end = time.monotonic() + _KILL_S
        while alive := self._note(await self._census.look(0.0)):
            for pid in alive:
                _signal(pid)
            if time.monotonic() > end:
                break
            await asyncio.sleep(0.01)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_KILL_S)


def _below(roots: set[int], seen: dict[int, Process]) -> set[int]:
    """``roots`` that are there, and everything that descends from them."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in seen.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [pid for pid in roots if pid in seen]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return found


def _signal(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return


def _signal_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except OSError:
        return


def started(pid: int) -> str:
    """When ``pid`` started, as ``ps`` says it; empty when it is not running."""
    asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, check=False)
    return asked.stdout.decode(errors="replace").strip()
