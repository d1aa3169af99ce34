"""A trial's supervisor: starts its commands and guest functions, and ends all of them. Linux, stdlib only.

It is a subreaper in a session of its own. Requests come over a control socket as ``wire`` messages:

    {"op": "open", "env", "workspace"}                         a trial begins
    {"op": "exec", "id", "argv", "cwd", "env", "timeout_ms"}   + files: stdout, stderr, then 3, 4, ... if any
    {"op": "guest", "id", "request", "env", "timeout_ms"}      + files: output, frames   (warm bundle only)
    {"op": "kill", "id"}
    {"op": "end"}                                              kill and reap everything the trial started

Answers are ``{"id", "status", "timed_out", "ms"}`` with a raw wait status, or ``{"id", "error", "code"}``
when nothing was started. The end is answered by ``{"ended": <killed>, "left": <refused to die>}``; after it
the same process may serve the next trial, which saves a fork: it never runs a line of a trial's own code.
When the socket's other end closes, as the host is gone or needs it no more, it kills everything and exits.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time

from sphynx.sandboxes.local import killing, wire

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DEFAULT_AGAIN = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD]
_NOT_FOUND = 127
_NOT_STARTED = 126


class NotStarted(Exception):
    """A command that could not be started: why, and the exit code a shell would give."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Job:
    """One running command or guest function."""

    __slots__ = ("deadline", "id", "pid", "started", "timed_out")

    def __init__(self, number: int, pid: int, timeout_ms: int | None) -> None:
        self.id = number
        self.pid = pid
        self.started = time.monotonic()
        self.deadline = None if timeout_ms is None else self.started + timeout_ms / 1000
        self.timed_out = False


class Supervisor:
    """Serves one trial at a time, until the host lets go of the control socket."""

    def __init__(
        self,
        control: socket.socket,
        run_guest: Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], int] | None = None,
    ) -> None:
        self.control = control
        self.env: dict[str, str] = {}
        self.workspace = "/"
        self.run_guest = run_guest
        self.jobs: dict[int, Job] = {}
        self.woken = -1
        self.wake = -1

    def serve(self) -> None:
        """Work until end of file, then kill everything."""
        self.woken, self.wake = wake_on_child()
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        listening = True
        while listening:
            ready = {fd for fd, _ in poll.poll(self.patience())}
            if self.woken in ready:
                os.read(self.woken, 512)
                self.reap()
            if self.control.fileno() in ready:
                listening = self.handle()
            self.end_late_ones()
        killing.kill_all()

    def patience(self) -> int | None:
        """Milliseconds until the next time limit."""
        limits = [
            job.deadline for job in self.jobs.values() if job.deadline is not None and not job.timed_out
        ]
        if not limits:
            return None
        return max(0, int((min(limits) - time.monotonic()) * 1000) + 1)

    def handle(self) -> bool:
        """Take one request; false when there will be no more."""
        try:
            message, files = wire.receive(self.control)
        except OSError:
            return False
        if message is None:
            return False
        try:
            return self.act(message, files)
        finally:
            for fd in files:
                os.close(fd)

    def act(self, message: dict[str, Any], files: list[int]) -> bool:
        op = message["op"]
        if op == "open":
            self.env, self.workspace = message["env"], message["workspace"]
        elif op == "kill":
            self.kill(message["id"])
        elif op == "end":
            return self.end()
        else:
            self.start(message, files)
        return True

    def end(self) -> bool:
        """Kill everything of the trial; false when something refused to die: no other trial may meet it."""
        killed, left = killing.kill_all()
        self.jobs.clear()
        self.answer({"ended": killed, "left": left})
        return left == 0

    def start(self, message: dict[str, Any], files: list[int]) -> None:
        try:
            pid = self.fork_guest(message, files) if message["op"] == "guest" else self.spawn(message, files)
        except NotStarted as problem:
            self.answer({"id": message["id"], "error": problem.message, "code": problem.code})
            return
        self.jobs[pid] = Job(message["id"], pid, message["timeout_ms"])

    def spawn(self, message: dict[str, Any], files: list[int]) -> int:
        """Start a command. This process has one thread, so it may stand in the command's folder for it."""
        argv, env = message["argv"], {**self.env, **message["env"]}
        try:
            os.chdir(message["cwd"])
        except OSError as problem:
            reason = problem.strerror
            raise NotStarted(f'cannot change to folder "{message["cwd"]}": {reason}', _NOT_STARTED) from None
        program = find_program(argv[0], env.get("PATH", os.defpath), message["cwd"])
        actions = [(os.POSIX_SPAWN_DUP2, files[0], 1), (os.POSIX_SPAWN_DUP2, files[1], 2)]
        high = [killing.move_high(fd) for fd in files[2:]]
        actions += [(os.POSIX_SPAWN_DUP2, fd, 3 + place) for place, fd in enumerate(high)]
        try:
            return os.posix_spawn(
                program, argv, env, file_actions=actions, setsid=True, setsigmask=(), setsigdef=_DEFAULT_AGAIN
            )
        except OSError as problem:
            raise NotStarted(f'cannot run "{argv[0]}": {problem.strerror}', _NOT_STARTED) from None
        except ValueError as problem:
            raise NotStarted(f'cannot run "{argv[0]}": {problem}', _NOT_STARTED) from None
        finally:
            for fd in high:
                os.close(fd)
            os.chdir("/")

    def fork_guest(self, message: dict[str, Any], files: list[int]) -> int:
        """Fork a child that runs one function of the bundle this process has loaded."""
        if self.run_guest is None:
            raise NotStarted("no bundle is loaded here", _NOT_STARTED)
        pid = os.fork()
        if pid:
            return pid
        code = 70
        try:
            code = self.guest_child(message, files)
        except BaseException as problem:
            sys.excepthook(type(problem), problem, problem.__traceback__)
        finally:
            os._exit(code)

    def guest_child(self, message: dict[str, Any], files: list[int]) -> int:
        from sphynx.sandboxes.local.guest_child import run

        signal.set_wakeup_fd(-1)
        for fd in (self.woken, self.wake):
            os.close(fd)
        self.control.close()
        assert self.run_guest is not None
        env = {**self.env, **message["env"]}
        return run(self.run_guest, message["request"], env, self.workspace, files[0], files[1])

    def kill(self, number: int) -> None:
        for job in self.jobs.values():
            if job.id == number:
                killing.kill_job(job.pid)

    def end_late_ones(self) -> None:
        if not self.jobs:
            return
        now = time.monotonic()
        for job in list(self.jobs.values()):
            if job.deadline is not None and job.deadline <= now and not job.timed_out:
                job.timed_out = True
                killing.kill_job(job.pid)
        self.reap()

    def reap(self) -> None:
        """Collect every child that ended, orphans of the trial too, and report those that were asked for."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            job = self.jobs.pop(pid, None)
            if job is not None:
                spent = (time.monotonic() - job.started) * 1000
                self.answer({"id": job.id, "status": status, "timed_out": job.timed_out, "ms": spent})

    def answer(self, message: dict[str, Any]) -> None:
        try:
            wire.send(self.control, message)
        except OSError:
            return  # the host is gone; the end of file that follows ends the trial


def wake_on_child() -> tuple[int, int]:
    """A pipe that becomes readable when a child ends: (read end, write end)."""
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return woken, wake


def _nothing(number: int, frame: object) -> None:
    """SIGCHLD is handled, never ignored: an ignored one would make failed subprocesses look successful."""


def find_program(name: str, path: str, cwd: str) -> str:
    """The file that ``name`` means under the command's own PATH, in the folder it starts in."""
    if "/" in name:
        return name
    for folder in path.split(os.pathsep):
        candidate = os.path.join(cwd, folder, name)
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    raise NotStarted(f'command not found: "{name}"', _NOT_FOUND)


def main(channel: int) -> None:
    """The isolated form, inside bubblewrap: ``channel`` is the inherited control socket."""
    control = socket.socket(fileno=channel)
    os.set_inheritable(channel, False)
    killing.become_subreaper()
    killing.refuse_tracing()
    Supervisor(control).serve()
