"""What Sphynx keeps on disk, and how it is removed when someone asks."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sphynx.engine import list_batches
from sphynx.engine.batch_folder import batches_folder
from sphynx.errors import SphynxError
from sphynx.sandboxes.local.removal import remove_now
from sphynx.sandboxes.local_root import LocalRoot

DAY_S = 86_400.0
_BUSY_S = 3_600.0
"""A batch without an end that changed this recently may still be running."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that may go: ``kind`` is ``batch``, ``skill`` or the folder of the local root it lies in."""

    kind: str
    path: Path
    bytes: int
    age_s: float
    """Since it was last used."""
    busy: bool = False


def size_of(path: Path) -> int:
    """Bytes on disk below ``path``; links are not followed, what vanishes meanwhile counts as nothing."""
    total = 0
    for item in _walk(path):
        try:
            total += item.stat(follow_symlinks=False).st_blocks * 512
        except OSError:
            continue
    return total


def _walk(path: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [str(path)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue


def batches(cwd: Path, now: float | None = None) -> list[Entry]:
    """The recorded batches of the project ``cwd`` lies in, newest first, and copies of skills they ran."""
    now = time.time() if now is None else now
    home = next((root for root in (cwd, *cwd.parents) if batches_folder(root).is_dir()), None)
    if home is None:
        return []
    found: list[Entry] = []
    for folder in list_batches(home):
        age = now - _last_use(folder)
        found.append(Entry("batch", folder, size_of(folder), age, busy=_unfinished(folder) and age < _BUSY_S))
    return found + _skills(home, found, now)


def _skills(home: Path, batches: Sequence[Entry], now: float) -> list[Entry]:
    """Copies of skills: each is as old as the newest batch that ran it, which needs it to be resumed."""
    used: dict[Path, Entry] = {}
    for entry in sorted(batches, key=lambda entry: entry.age_s, reverse=True):
        path = (home / _eval_file(entry.path)).parent
        used[path] = replace(entry, busy=entry.busy or (path in used and used[path].busy))
    found: list[Entry] = []
    folder = home / ".sphynx" / "skills"
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        age, by = now - path.lstat().st_mtime, used.get(path)
        found.append(
            Entry("skill", path, size_of(path), min(age, by.age_s) if by else age, busy=bool(by and by.busy))
        )
    return found


def caches(root: LocalRoot, now: float | None = None) -> list[Entry]:
    """Installs, case caches and download caches of the local root."""
    now = time.time() if now is None else now
    found: list[Entry] = []
    for kind in ("harness", "cache", "packages"):
        folder = root.path / kind
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            found.append(Entry(kind, path, size_of(path), now - path.lstat().st_mtime))
    return found


def _last_use(folder: Path) -> float:
    """When something in a batch folder was last written."""
    times = [folder.lstat().st_mtime]
    for item in _walk(folder):
        try:
            times.append(item.stat(follow_symlinks=False).st_mtime)
        except OSError:
            continue
    return max(times)


def _eval_file(folder: Path) -> str:
    """The eval file a batch ran, from its project's root; empty when it does not say."""
    try:
        path = json.loads((folder / "batch.json").read_bytes())["x"]["path"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return path if isinstance(path, str) else ""


def _unfinished(folder: Path) -> bool:
    try:
        return b'"status":"running"' in (folder / "batch.json").read_bytes().replace(b" ", b"")
    except OSError:
        return False


def remove(entry: Entry, root: LocalRoot) -> None:
    """Move an entry aside and delete it, so that nobody meets half of it. ``SphynxError`` when it stays."""
    if entry.kind in ("batch", "skill"):
        aside = entry.path.with_name(f".going-{secrets.token_hex(6)}")
    else:
        aside = root.staging / f"retired-{secrets.token_hex(8)}"
    try:
        entry.path.rename(aside)
    except OSError as error:
        raise SphynxError(f"cannot remove {entry.path}: {error.strerror or error}") from error
    if not remove_now(aside):
        raise SphynxError(f"cannot remove all of {entry.path}: what is left is in {aside}")
