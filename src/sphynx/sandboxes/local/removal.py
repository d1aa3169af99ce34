"""Removing a trial's folder: small trees at once, large ones in a thread, read-only folders too."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from pathlib import Path

_SMALL = 300
"""Entries removed on the event loop; a thread costs more than that many unlinks."""

_LONG = 2_000
"""Characters of a path; with 4,096 the system takes no more, and one name may have 255."""


class _TooMany(Exception):
    """The tree is larger than what may be removed on the event loop."""


async def remove(folder: Path) -> bool:
    """Remove ``folder`` and all below it, or a file; false when something could not be removed."""
    if _remove(str(folder), _SMALL) is None:
        return bool(await asyncio.to_thread(_remove, str(folder), None))
    return not os.path.lexists(folder)


def remove_now(folder: Path) -> bool:
    """The same for callers without an event loop."""
    _remove(str(folder), None)
    return not os.path.lexists(folder)


def _remove(folder: str, budget: int | None) -> bool | None:
    """True or false when done, ``None`` when ``budget`` entries were not enough."""
    if not os.path.isdir(folder) or os.path.islink(folder):
        return _unlink(folder, os.path.dirname(folder))
    counter = None if budget is None else [budget]
    try:
        return _remove_tree(folder, counter)
    except _TooMany:
        return None


def _remove_tree(folder: str, counter: list[int] | None) -> bool:
    """Post-order without recursion, so that a very deep tree cannot exhaust the stack."""
    clean = True
    # The folder's own files go last: one of them may say whose it is, for when this is killed half way.
    last: list[str] = []
    waiting: list[tuple[str, bool]] = [(folder, False)]
    while waiting:
        path, emptied = waiting.pop()
        if emptied:
            for file in last if path == folder else ():
                clean = _unlink(file, path) and clean
            clean = _rmdir(path) and clean
            continue
        waiting.append((path, True))
        for entry in _entries(path):
            if counter is not None:
                counter[0] -= 1
                if counter[0] < 0:
                    raise _TooMany
            if entry.is_dir(follow_symlinks=False):
                waiting.append((_shortened(entry.path, folder), False))
            elif path == folder:
                last.append(entry.path)
            else:
                clean = _unlink(entry.path, path) and clean
    return clean


def _shortened(path: str, top: str) -> str:
    """``path``, moved up to ``top`` when it is so long that what lies below might have no path any more."""
    if len(path) < _LONG:
        return path
    short = f"{top}/.deep-{secrets.token_hex(8)}"
    try:
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        os.rename(path, short)
    except OSError:
        return path
    return short


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except PermissionError:
        pass
    except OSError:
        return []
    try:
        os.chmod(folder, stat.S_IRWXU)
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _unlink(path: str, folder: str) -> bool:
    try:
        os.unlink(path)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        pass
    try:
        os.chmod(folder, stat.S_IRWXU)
        os.unlink(path)
        return True
    except OSError:
        return not os.path.lexists(path)


def _rmdir(path: str) -> bool:
    try:
        os.rmdir(path)
        return True
    except FileNotFoundError:
        return True
    except OSError:
        pass
    try:
        os.chmod(os.path.dirname(path), stat.S_IRWXU)
        os.rmdir(path)
        return True
    except OSError:
        return not os.path.lexists(path)
