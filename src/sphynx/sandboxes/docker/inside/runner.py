"""The program behind every call of a sandbox: started by an exec as root, gone when its work is done.

It reads one request (see ``frames``), does it as the agent's user, and answers. Nothing of a request is ever
in an argument: variables and prompts travel on standard input.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sys
import tempfile
import time

from sphynx.sandboxes import trees
from sphynx.sandboxes.docker import frames, layout
from sphynx.sandboxes.docker.inside import talk
from sphynx.sandboxes.docker.inside.account import Account, account
from sphynx.sandboxes.local import killing
from sphynx.sandboxes.local.paths import Folders, Root

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_NAMES = ("TERM", "container")
"""Variables the engine sets for its own exec."""
_UNKILLABLE_S = 8.0
_COERCED = "C.UTF-8"
"""What an interpreter without a locale writes into its own environment."""


def main() -> None:
    """Do the request on standard input."""
    try:
        asked = talk.read_request()
        who = account(asked.get("user", ""))
        _OPS[asked["op"]](asked, who)
    except talk.HostGone:
        return
    except OSError as error:
        talk.answer(errno=error.errno or 0, reason=error.strerror or str(error))
    except ValueError as error:
        talk.answer(errno=0, reason=str(error))


def _setup(asked: Mapping[str, Any], who: Account) -> None:
    """Make the trial's folders; tell what the image lacks."""
    for path in (layout.WORKSPACE, layout.HOME, layout.TMP):
        os.makedirs(path, mode=0o700, exist_ok=True)
        os.chown(path, who.uid, who.gid)
    os.makedirs(layout.BUNDLES, mode=0o711, exist_ok=True)
    talk.answer(bash=shutil.which("bash") is not None, user=who.name, uid=who.uid)


def _alone(asked: Mapping[str, Any], who: Account) -> None:
    """End calls of others, with all they have started; what they left to the first process stays."""
    end = time.monotonic() + _UNKILLABLE_S
    while others := [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_a_call(pid)]:
        if time.monotonic() > end:
            talk.answer(errno=errno.EBUSY, reason="what runs in it cannot be ended")
            return
        for pid in killing.descendants(others, freeze=True):
            killing.send_signal(pid, signal.SIGKILL)
        time.sleep(0.01)
    talk.answer()


def _is_a_call(pid: int) -> bool:
    """Whether the engine has put this process here from outside, and it is not ours."""
    if pid in (1, os.getpid()):
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return False
    return parent == b"0" and state not in (b"Z", b"X")


def _exec(asked: Mapping[str, Any], who: Account) -> None:
    from sphynx.sandboxes.docker.inside.job import Job, Source

    job = Job()
    out, err = Source(frames.OUT, asked["keep_out"]), Source(frames.ERR, asked["keep_err"])
    who.become()
    streams = job.stream(out), job.stream(err)
    who.stop()
    done = job.run(
        asked["argv"],
        cwd=os.path.join(layout.WORKSPACE, asked["cwd"] or ""),
        env=_environment(asked, who),
        streams=streams,
        account=who,
        timeout_ms=asked["timeout_ms"],
    )
    talk.answer(**done, stdout_bytes=out.total, stderr_bytes=err.total)


def _guest(asked: Mapping[str, Any], who: Account) -> None:
    """Run a function of the bundle, which is there only while it is needed."""
    from sphynx.sandboxes.docker.inside.job import Job, Source
    from sphynx.sandboxes.docker.inside.packages import install

    body = talk.Body()
    folder = tempfile.mkdtemp(dir=layout.BUNDLES)
    try:
        os.chown(folder, who.uid, who.gid)
        who.become()
        try:
            with trees.opened(folder) as place:
                trees.unpack(body, place)  # pyright: ignore[reportArgumentType]
        finally:
            who.stop()
            body.finish()
        problem = install(folder)
        if problem:
            talk.answer(exit_code=2, timed_out=False, duration_ms=0.0, stdout_bytes=0, failed=problem)
            return
        job = Job()
        out, channel = Source(frames.OUT, None), Source(frames.CHANNEL, None)
        who.become()
        streams, verdicts = job.stream(out), job.stream(channel, pair=True)
        request = _in_memory(asked["request"])
        who.stop()
        done = job.run(
            _guest_command(folder, request, verdicts),
            cwd=layout.WORKSPACE if _enterable(who) else "/",
            env=_environment(asked, who),
            streams=(streams, streams),
            account=who,
            timeout_ms=asked["timeout_ms"],
            pass_fds=(verdicts, request),
        )
        talk.answer(**done, stdout_bytes=out.total)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _guest_command(folder: str, request: int, verdicts: int) -> list[str]:
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.path.append(sys.argv.pop(1)); "
        "from sphynx.sandboxes.local import killing; killing.refuse_tracing(); "
        "import runpy; runpy.run_module('sphynx.guest', run_name='__main__', alter_sys=True)"
    )
    python = [sys.executable, "-P", "-s", "-c", program, layout.LIBRARY, layout.PACKAGES]
    return [*python, "--bundle", folder, "--request", f"/dev/fd/{request}", "--result-fd", str(verdicts)]


def _in_memory(value: Any) -> int:
    fd = os.memfd_create("request", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.write(json.dumps(value).encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _enterable(who: Account) -> bool:
    who.become()
    try:
        return os.access(layout.WORKSPACE, os.X_OK, effective_ids=True)
    finally:
        who.stop()


def _write(asked: Mapping[str, Any], who: Account) -> None:
    body = talk.Body()
    who.become()
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with open(_folders().open(asked["path"], flags, asked["mode"], make_folders=True), "wb") as file:
            shutil.copyfileobj(body, file, frames.PIECE)  # pyright: ignore[reportArgumentType]
            os.fchmod(file.fileno(), asked["mode"])
    finally:
        who.stop()
        body.finish()
    talk.answer()


def _read(asked: Mapping[str, Any], who: Account) -> None:
    who.become()
    with open(_folders().open(asked["path"], os.O_RDONLY), "rb", buffering=0) as file:
        left = asked["limit"]
        while left is None or left > 0:
            part = file.read(frames.PIECE if left is None else min(left, frames.PIECE))
            if not part:
                break
            left = None if left is None else left - len(part)
            talk.send(frames.frame(frames.DATA, part))
    talk.answer()


def _upload(asked: Mapping[str, Any], who: Account) -> None:
    body = talk.Body()
    who.become()
    try:
        folder = _folders().folder(asked["path"], make=True)
        trees.unpack(body, folder)  # pyright: ignore[reportArgumentType]
    finally:
        who.stop()
        body.finish()
    talk.answer()


def _download(asked: Mapping[str, Any], who: Account) -> None:
    who.become()
    trees.pack(_folders().folder(asked["path"]), talk.Sending(frames.DATA))  # pyright: ignore[reportArgumentType]
    talk.answer()


def _folders() -> Folders:
    return Folders([Root(path, path) for path in (layout.WORKSPACE, layout.HOME, layout.TMP)])


def _environment(asked: Mapping[str, Any], who: Account) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if name not in _NAMES}
    path = own.get("PATH") or "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    own["PATH"] = f"{layout.HOME}/.local/bin:{path}"
    if "LANG" not in own and own.get("LC_CTYPE") == _COERCED:
        del own["LC_CTYPE"]
    own.setdefault("LANG", "C.UTF-8")
    of_trial = {
        "HOME": layout.HOME, "TMPDIR": layout.TMP, "USER": who.name, "LOGNAME": who.name, "SHELL": who.shell,
    }  # fmt: skip
    return {**own, **of_trial, **asked["env"]}


_OPS = {
    "setup": _setup, "alone": _alone, "exec": _exec, "guest": _guest, "write": _write, "read": _read,
    "upload": _upload, "download": _download,
}  # fmt: skip
