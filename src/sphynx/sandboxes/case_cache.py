"""What a case's ``cache`` keeps between trials: one entry per key and path, in the local root's ``cache``.

An entry is written in ``staging`` and appears by one rename, so that a trial finds all of it or nothing.
It is never replaced: of several trials that save the same key, the first one's entry stays.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import stat
from pathlib import Path

from sphynx.contracts import Sandbox
from sphynx.sandboxes.local import paths
from sphynx.sandboxes.local.removal import remove_now
from sphynx.sandboxes.local_root import LocalRoot

_CONTENT = "content"


class CaseCache:
    """Restores and saves folders of trials (or single files, where the workspace is on this machine)."""

    def __init__(self, root: LocalRoot) -> None:
        self._root = root

    async def restore(self, box: Sandbox, key: str, path: str) -> bool:
        """Copy the entry to ``path`` in the workspace; false when there is none.

        Raises ``PermissionError`` when ``path`` leads out of the workspace, ``OSError`` when copying fails.
        """
        workspace = getattr(box, "host_workspace", None)
        if workspace is not None:
            return await asyncio.to_thread(self._restore, key, path, Path(workspace))
        entry = self._entry(key, path)
        try:
            os.utime(entry)
        except OSError:
            return False
        await box.upload(entry / _CONTENT, os.path.normpath(path))
        return True

    async def save(self, box: Sandbox, key: str, path: str) -> bool:
        """Keep what is at ``path``; false when nothing is there or the key is kept already.

        Sockets, pipes and devices are left out, links are kept as links. Raises as ``restore`` does.
        """
        workspace = getattr(box, "host_workspace", None)
        if workspace is not None:
            return await asyncio.to_thread(self._save, key, path, Path(workspace))
        entry = self._entry(key, path)
        if entry.exists():
            return False
        folder = self._root.new_staging()
        try:
            await box.download(os.path.normpath(path), folder / _CONTENT)
            return _appear(folder, entry)
        except FileNotFoundError:
            return False
        finally:
            await asyncio.to_thread(remove_now, folder)

    def _entry(self, key: str, path: str) -> Path:
        named = json.dumps([key, os.path.normpath(path)]).encode()
        return self._root.cache / hashlib.sha256(named).hexdigest()[:40]

    def _restore(self, key: str, path: str, workspace: Path) -> bool:
        entry = self._entry(key, path)
        try:
            os.utime(entry)
        except OSError:
            return False
        _copy(entry / _CONTENT, _within(workspace, path, make=True))
        return True

    def _save(self, key: str, path: str, workspace: Path) -> bool:
        source = _within(workspace, path, make=False)
        entry = self._entry(key, path)
        if entry.exists() or not os.path.lexists(source):
            return False
        folder = self._root.new_staging()
        try:
            _copy(source, folder / _CONTENT)
            return _appear(folder, entry)
        finally:
            remove_now(folder)


def _appear(folder: Path, entry: Path) -> bool:
    """Put an entry in its place, whole; false when another trial was faster."""
    try:
        folder.rename(entry)
        return True
    except OSError:
        if entry.exists():
            return False
        raise


def _within(workspace: Path, path: str, *, make: bool) -> Path:
    """``path`` below ``workspace``, with no link on the way that leads out of it."""
    target = workspace / os.path.normpath(path)
    root = workspace.resolve()
    if not target.is_relative_to(workspace) or target == workspace:
        raise paths.leaves(path)
    if not target.parent.resolve().is_relative_to(root) or (target.is_symlink() and make):
        raise paths.leaves(path)
    if make:
        target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _copy(source: Path, target: Path) -> None:
    if source.is_dir() and not source.is_symlink():
        shutil.copytree(source, target, symlinks=True, ignore=_special, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _special(folder: str, names: list[str]) -> list[str]:
    """Entries that cannot be copied: reading a pipe would wait for ever."""
    kinds = {name: (Path(folder) / name).lstat().st_mode for name in names}
    return [
        name
        for name, kind in kinds.items()
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or stat.S_ISLNK(kind))
    ]
