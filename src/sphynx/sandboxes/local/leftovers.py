"""Who holds a trial's folder, and what is left of trials whose holder is gone."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_LOCK = "lock"
_UNLOCKED_S = 3_600
_FOREIGN_S = 30 * 86_400


def lock(folder: str) -> None:
    """Write who holds ``folder``: this process, told apart from a later one of the same number."""
    fd = os.open(f"{folder}/{_LOCK}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, _holder())
    finally:
        os.close(fd)


_lines: dict[int, bytes] = {}


def _holder() -> bytes:
    me = os.getpid()
    if me not in _lines:
        holder = {"pid": me, "started": started(me), "namespace": _namespace()}
        _lines[me] = json.dumps(holder).encode() + b"\n"
    return _lines[me]


def started(pid: int) -> str:
    """When ``pid`` started, in a form that is only compared; empty when it is not running."""
    if sys.platform == "linux":
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            return ""
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    from sphynx.sandboxes.local import groups

    return groups.started(pid)


def _namespace() -> str:
    """What process numbers mean here: not the same in another container or after a reboot."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def is_dead(folder: Path) -> bool:
    """Whether nobody holds ``folder`` any more. In doubt it is held."""
    try:
        age = time.time() - folder.lstat().st_mtime
    except OSError:
        return False
    try:
        holder = json.loads((folder / _LOCK).read_bytes())
        pid, began, namespace = int(holder["pid"]), str(holder["started"]), str(holder["namespace"])
    except FileNotFoundError:
        return folder.is_dir() and age > _UNLOCKED_S
    except (OSError, ValueError, KeyError, TypeError):
        return age > _UNLOCKED_S
    if namespace != _namespace():
        return _other_boot(namespace) or age > _FOREIGN_S
    return started(pid) != began


def _other_boot(namespace: str) -> bool:
    ours = _namespace().partition(" ")[0]
    theirs = namespace.partition(" ")[0]
    return bool(ours and theirs and ours != theirs)


def kill_inside(folders: Sequence[Path]) -> None:
    """Kill our own processes that stand in, or have their HOME in, one of ``folders`` (Linux)."""
    roots = [str(folder) for folder in folders]
    for _ in range(20):
        found = [pid for pid in _processes() if _belongs(pid, roots)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    except OSError:
        return []


def _belongs(pid: int, roots: Sequence[str]) -> bool:
    try:
        cwd = os.readlink(f"/proc/{pid}/cwd")
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
    except OSError:
        return False
    home = next((entry[5:].decode(errors="replace") for entry in variables if entry.startswith(b"HOME=")), "")
    return any(path == root or path.startswith(root + "/") for path in (cwd, home) for root in roots)
