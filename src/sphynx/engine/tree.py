"""A workspace on this machine, read without following a link: what is there and what changed.

The agent wrote these files, so nothing in them is trusted: folders are opened by descriptor, links and
pipes are never opened, sizes are read from the open file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

SKIPPED = frozenset(
    {
        ".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
        ".tox", ".next", ".turbo", ".gradle", "target",
    }
)  # fmt: skip
"""Folders that tools fill by the thousand; what happens in them is not compared."""

QUICK = 400
"""Entries looked at without leaving the event loop."""
MAX_FILES = 20_000
MAX_DEPTH = 100
"""Folders inside each other; each level holds a descriptor while what is below it is read."""
MAX_FILE_BYTES = 131_072
MAX_TOTAL_BYTES = 4_194_304

_DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TooManyFiles(Exception):
    """The tree has more entries than the caller wanted to look at."""


@dataclass(slots=True)
class FileState:
    """One regular file or link: enough to see that it changed, and its bytes when they are small."""

    size: int
    mtime_ns: int
    inode: int
    mode: int
    data: bytes | None = None


@dataclass(slots=True)
class Tree:
    """A workspace at one moment. ``complete`` is false when a limit cut the look short."""

    files: dict[str, FileState] = field(default_factory=dict)
    complete: bool = True
    held: int = 0


def scan(root: str, *, limit: int = MAX_FILES, strict: bool = False, hold: bool = True) -> Tree:
    """Look at every file below ``root``; ``hold`` keeps the bytes of small ones, 4 MB in all.

    With ``strict`` a tree beyond ``limit`` raises ``TooManyFiles``, else it comes back incomplete.
    """
    tree = Tree()
    try:
        top = os.open(root, _DIR_FLAGS)
    except OSError:
        return tree
    try:
        for folder, path, name, info in _walk(top, "", tree):
            if len(tree.files) >= limit:
                if strict:
                    raise TooManyFiles
                tree.complete = False
                break
            state = FileState(info.st_size, info.st_mtime_ns, info.st_ino, info.st_mode)
            if hold and tree.held + state.size <= MAX_TOTAL_BYTES:
                state.data = _content(folder, name, state)
                tree.held += len(state.data or b"")
            tree.files[path] = state
    finally:
        os.close(top)
    return tree


def read_file(root: str, path: str, limit: int = MAX_FILE_BYTES) -> bytes | None:
    """The bytes of one regular file below ``root``, or ``None`` when it is a link, too large or gone."""
    parts = path.split("/")
    folder = -1
    try:
        folder = os.open(root, _DIR_FLAGS)
        for part in parts[:-1]:
            deeper = os.open(part, _DIR_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = deeper
        return _read(folder, parts[-1], limit)
    except OSError:
        return None
    finally:
        if folder >= 0:
            os.close(folder)


def _walk(
    folder: int, prefix: str, tree: Tree, depth: int = 0
) -> Iterator[tuple[int, str, str, os.stat_result]]:
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        try:
            info = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        if not stat.S_ISDIR(info.st_mode):
            if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
                yield folder, prefix + entry.name, entry.name, info
            continue
        if entry.name in SKIPPED:
            continue
        if depth >= MAX_DEPTH:
            tree.complete = False
            continue
        try:
            deeper = os.open(entry.name, _DIR_FLAGS, dir_fd=folder)
        except OSError:
            continue
        try:
            yield from _walk(deeper, f"{prefix}{entry.name}/", tree, depth + 1)
        finally:
            os.close(deeper)


def _content(folder: int, name: str, state: FileState) -> bytes | None:
    if stat.S_ISLNK(state.mode):
        try:
            return os.fsencode(os.readlink(name, dir_fd=folder))
        except OSError:
            return None
    if state.size > MAX_FILE_BYTES:
        return None
    try:
        return _read(folder, name, MAX_FILE_BYTES)
    except OSError:
        return None


def _read(folder: int, name: str, limit: int) -> bytes | None:
    fd = os.open(name, _FILE_FLAGS, dir_fd=folder)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_size > limit:
            return None
        parts = []
        left = limit + 1
        while left > 0 and (part := os.read(fd, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts) if left > 0 else None
    finally:
        os.close(fd)
