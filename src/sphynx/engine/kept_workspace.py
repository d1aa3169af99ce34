"""What ``--keep-workspace`` stores beside a trial's record, so that its checks can run again.

That is a copy of the workspace, of bounded size, since the agent decides what is in there, and what the mocks
were asked.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sphynx.engine.batch_folder import write_atomically
from sphynx.redaction import Redactor

NAME = "workspace"
CALLS = "calls.json"

MAX_FILES = 20_000
MAX_FILE_BYTES = 67_108_864
MAX_TOTAL_BYTES = 268_435_456
MAX_PATH = 1_000
"""Characters below the workspace; the copy lies deeper than the original."""


def copy(source: str, target: str) -> str | None:
    """Copy ``source`` to ``target`` and give a note when something was left out.

    Links are copied as links, but for those that are absolute or lead out of the workspace. Left out are also
    pipes, sockets and devices, files over 64 MB, what cannot be read, and everything beyond 256 MB or 20,000
    files. Nobody but this user may enter the copy.
    """
    left_out = led_out = 0
    inside = os.path.realpath(source)
    room, files = MAX_TOTAL_BYTES, MAX_FILES
    try:
        Path(target).mkdir(mode=0o700, parents=True, exist_ok=True)
        Path(target).chmod(0o700)
    except OSError as error:
        return f"the workspace was not kept: {error.strerror}"
    if Path(source).is_symlink():
        return "the workspace was not kept: it is a link"
    for folder, names, path in _walk(source):
        place = f"{target}/{path}" if path else target
        for name in names:
            size = _size(f"{folder}/{name}")
            if size is None or size > min(room, MAX_FILE_BYTES) or not files:
                left_out += 1
                continue
            if _leads_out(f"{folder}/{name}", inside):
                led_out += 1
            elif _copied(f"{folder}/{name}", place, name):
                room, files = room - size, files - 1
            else:
                left_out += 1
    notes = []
    if left_out:
        notes.append(f"{left_out} files of the workspace were not kept: too large, or not to be read")
    if led_out:
        notes.append(f"{led_out} links of the workspace were not kept: they lead out of it")
    return "; ".join(notes) or None


def _leads_out(path: str, inside: str) -> bool:
    try:
        target = str(Path(path).readlink())
    except OSError:
        return False
    real = os.path.realpath(path)
    return target.startswith("/") or (real != inside and not real.startswith(inside + "/"))


def keep_calls(folder: Path, calls: Mapping[str, Sequence[Any]], redactor: Redactor) -> None:
    """Write the calls of a trial's mocks into its folder, redacted."""
    text = json.dumps(redactor.value(calls), ensure_ascii=False)
    write_atomically(folder / CALLS, text.encode("utf-8", "replace") + b"\n")


def calls_in(folder: Path) -> dict[str, Any] | None:
    """The calls that were kept; ``None`` when none were."""
    try:
        value = json.loads((folder / CALLS).read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _walk(source: str) -> list[tuple[str, list[str], str]]:
    found = []
    for folder, folders, names in os.walk(source):
        path = folder[len(source) :].strip("/")
        if len(path) > MAX_PATH:
            folders.clear()
            continue
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found.append((folder, [*names, *links], path))
        if len(found) >= MAX_FILES:
            break
    return found


def _size(path: str) -> int | None:
    """Bytes a copy takes, also of what is sparse; ``None`` for what is neither file nor link."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    if stat.S_ISLNK(info.st_mode):
        return 0
    return info.st_size if stat.S_ISREG(info.st_mode) else None


def _copied(path: str, folder: str, name: str) -> bool:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, f"{folder}/{name}", follow_symlinks=False)
    except OSError:
        return False
    return True
