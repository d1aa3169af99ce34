"""The zygote: a small process that imports a bundle once and forks a supervisor per trial. Stdlib only.

Started by exec before anything else, so that no thread or event loop of the host is ever forked. The host
talks to it over a socket:

    {"bundle": <folder or null>, "fresh": <why not warm>}   -> {"ready", "warm", "why"} or {"failed": {...}}
    {"op": "fork"}                                 + file: the supervisor's end of a control socket
    {"op": "isolate", "argv"}                      + files: control socket (becomes 3), errors (2), 4, 5, ...

Not ready means that the import worked, but left this process unfit to be forked: it ends, and the host starts
another without the bundle.

It is a subreaper too: what a killed supervisor leaves behind becomes its own, and is killed. At end of file
it waits for its supervisors, which end by themselves.
"""

from __future__ import annotations

import os
import select
import signal
import socket

from sphynx.sandboxes.local import killing, wire
from sphynx.sandboxes.local.supervisor import Supervisor, wake_on_child

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Zygote:
    """Forks supervisors until the host lets go."""

    def __init__(self, host: socket.socket, run_guest: Callable[..., int] | None) -> None:
        self.host = host
        self.run_guest = run_guest
        self.supervisors: set[int] = set()
        self.woken = -1
        self.wake = -1

    def serve(self) -> None:
        self.woken, self.wake = wake_on_child()
        poll = select.poll()
        poll.register(self.host, select.POLLIN)
        poll.register(self.woken, select.POLLIN)
        listening = True
        while listening or self.supervisors:
            ready = {fd for fd, _ in poll.poll()}
            if self.woken in ready:
                os.read(self.woken, 512)
                self.reap()
            if listening and self.host.fileno() in ready:
                listening = self.handle()
                if not listening:
                    poll.unregister(self.host)

    def handle(self) -> bool:
        try:
            message, files = wire.receive(self.host)
        except OSError:
            return False
        if message is None:
            return False
        try:
            pid = self.isolate(message, files) if message["op"] == "isolate" else self.fork(files[0])
            self.supervisors.add(pid)
        finally:
            for fd in files:
                os.close(fd)
        return True

    def fork(self, control: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        try:
            signal.set_wakeup_fd(-1)
            for fd in (self.woken, self.wake):
                os.close(fd)
            self.host.close()
            os.setsid()
            killing.become_subreaper()
            Supervisor(socket.socket(fileno=control), self.run_guest).serve()
        finally:
            os._exit(0)

    def isolate(self, message: dict[str, Any], files: list[int]) -> int:
        """Start a supervisor inside bubblewrap; its end of the control socket becomes descriptor 3."""
        control, errors, *others = (killing.move_high(fd) for fd in files)
        high = [errors, control, *others]
        actions = [(os.POSIX_SPAWN_DUP2, fd, 2 + place) for place, fd in enumerate(high)]
        try:
            return os.posix_spawn(
                message["argv"][0], message["argv"], {}, file_actions=actions, setsigmask=()
            )
        finally:
            for fd in high:
                os.close(fd)

    def reap(self) -> None:
        lost = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            lost = lost or (pid in self.supervisors and status != 0)
            self.supervisors.discard(pid)
        if lost:
            killing.kill_all(keep=frozenset(self.supervisors))


def main(channel: int) -> None:
    """Import the bundle if there is one, say so, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    host = socket.socket(fileno=channel)
    os.set_inheritable(channel, False)
    message, _ = wire.receive(host)
    if message is None:
        return
    killing.become_subreaper()
    run_guest = None
    answer: dict[str, Any] = {"ready": True, "warm": False, "why": "no bundle"}
    if message["bundle"] is not None:
        from sphynx.sandboxes.local import warmth

        run_guest, answer = warmth.warm_up(message["bundle"], message["fresh"])
    wire.send(host, answer)
    if answer["ready"]:
        import gc

        gc.collect()
        gc.disable()
        gc.freeze()
        Zygote(host, run_guest).serve()
