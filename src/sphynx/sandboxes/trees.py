"""Whole folders as tar streams: modes and links are kept, no link is ever followed.

One side of every copy was written by an agent, which may still be at it. Both ends therefore walk with open
descriptors: packing never reads what a link points to, unpacking never writes through one. Standard library
only, because it also runs inside containers.
"""

from __future__ import annotations

import errno
import os
import stat
import tarfile
from contextlib import contextmanager

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20
_DEEPEST = 200


@contextmanager
def opened(path: str) -> Iterator[int]:
    """A descriptor of a folder of one's own, for ``pack`` and ``unpack``."""
    folder = os.open(path, _FOLDER)
    try:
        yield folder
    finally:
        os.close(folder)


def pack(folder: int, target: IO[bytes]) -> None:
    """Write what is below the open ``folder`` as a tar stream. Pipes, sockets and devices are left out.

    ``OSError`` when something cannot be read.
    """
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        _add(tar, folder, "", 0)


def _add(tar: tarfile.TarFile, folder: int, prefix: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise OSError(errno.ELOOP, "folders inside each other too deep", prefix)
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries)
    for name in names:
        try:
            kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            continue
        entry = tarfile.TarInfo(prefix + name)
        if stat.S_ISLNK(kind):
            entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
            tar.addfile(entry)
        elif stat.S_ISDIR(kind):
            deeper = os.open(name, _FOLDER, dir_fd=folder)
            try:
                entry.type, entry.mode = tarfile.DIRTYPE, stat.S_IMODE(os.fstat(deeper).st_mode)
                tar.addfile(entry)
                _add(tar, deeper, f"{prefix}{name}/", depth + 1)
            finally:
                os.close(deeper)
        elif stat.S_ISREG(kind):
            with open(os.open(name, _READ, dir_fd=folder), "rb", buffering=0) as file:
                info = os.fstat(file.fileno())
                if stat.S_ISREG(info.st_mode):
                    entry.size, entry.mode = info.st_size, stat.S_IMODE(info.st_mode)
                    entry.mtime = int(info.st_mtime)
                    tar.addfile(entry, _Exactly(file))  # pyright: ignore[reportArgumentType]


class _Exactly:
    """A file that never ends early: one that shrinks while it is copied is filled up with zeros."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0:
            part = self._file.read(min(size, _PIECE)) or bytes(min(size, _PIECE))
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def unpack(source: IO[bytes], folder: int, *, most_bytes: int | None = None) -> None:
    """Put a tar stream's folders, files and links below the open ``folder``; what is there is replaced.

    ``PermissionError`` for a name that leads out of it, ``OSError`` when something cannot be written or the
    stream holds more than ``most_bytes``.
    """
    modes: list[tuple[str, int]] = []
    room = most_bytes
    try:
        with tarfile.open(fileobj=source, mode="r|", errors="surrogateescape") as tar:
            for entry in tar:
                if room is not None:
                    room -= entry.size
                    if room < 0:
                        raise OSError(errno.EFBIG, f"more than {most_bytes} bytes", entry.name)
                _place(tar, entry, folder, modes)
    except tarfile.TarError as error:
        raise OSError(errno.EIO, f"the stream is no archive: {error}") from None
    for name, mode in reversed(modes):
        parent, last = _parent(folder, name)
        try:
            target = os.open(last, _FOLDER, dir_fd=parent)
            try:
                os.fchmod(target, mode)
            finally:
                os.close(target)
        finally:
            os.close(parent)


def _place(tar: tarfile.TarFile, entry: tarfile.TarInfo, folder: int, modes: list[tuple[str, int]]) -> None:
    if not (entry.isreg() or entry.isdir() or entry.issym()):
        return
    parent, last = _parent(folder, entry.name)
    try:
        if entry.isdir():
            _make_folder(last, parent)
            modes.append((entry.name, entry.mode & 0o777))
            return
        _clear(last, parent)
        if entry.issym():
            os.symlink(entry.linkname, last, dir_fd=parent)
            return
        content = tar.extractfile(entry)
        with open(os.open(last, _WRITE, 0o600, dir_fd=parent), "wb", buffering=0) as file:
            while content is not None and (part := content.read(_PIECE)):
                rest = memoryview(part)
                while rest:
                    rest = rest[file.write(rest) or 0 :]
            os.fchmod(file.fileno(), entry.mode & 0o777)
    finally:
        os.close(parent)


def _parent(folder: int, name: str) -> tuple[int, str]:
    """An open descriptor of the folder ``name`` stands in, made where it is missing, and its last part."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or name.startswith("/"):
        raise PermissionError(errno.EACCES, "the path leaves the folder", name)
    here = os.dup(folder)
    for part in parts[:-1]:
        try:
            _make_folder(part, here)
            deeper = os.open(part, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = deeper
    return here, parts[-1]


def _make_folder(name: str, parent: int) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
            os.mkdir(name, 0o755, dir_fd=parent)


def _clear(name: str, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass
