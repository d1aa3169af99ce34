"""Opening files of a trial from outside without being led out of it.

A trial may plant links, pipes and devices where the host will read or write. Every path is therefore walked
folder by folder with open descriptors, links are read and followed by hand as the trial would see them, and
only regular files are opened. What leaves the trial is a ``PermissionError``.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

_MOST_LINKS = 40
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LISTED = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of the trial: ``inside`` is its path for the trial, ``outside`` for the host."""

    inside: str
    outside: str


class Folders:
    """The folders of one trial; relative paths start at the first."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = tuple(roots)

    @property
    def outside(self) -> str:
        """The first folder as the host sees it."""
        return self._roots[0].outside

    def split(self, path: str) -> tuple[Root, list[str]]:
        """The root that holds ``path``, and its parts below that root."""
        full = path if path.startswith("/") else f"{self._roots[0].inside}/{path}"
        for root in self._roots:
            if full == root.inside or full.startswith(root.inside + "/"):
                return root, _parts(full[len(root.inside) :])
        raise leaves(path)

    def open(self, path: str, flags: int, mode: int = 0o600, *, make_folders: bool = False) -> int:
        """A descriptor of the regular file at ``path``; ``make_folders`` makes those it stands in."""
        if "\0" in path:
            raise leaves(path)
        walk = _Walk(self, path, make_folders)
        try:
            return _regular(walk.open(flags, mode), path)
        finally:
            walk.close()

    def folder(self, path: str, *, make: bool = False) -> int:
        """A descriptor of the folder at ``path``, which can be listed; ``make`` makes what is missing."""
        if "\0" in path:
            raise leaves(path)
        walk = _Walk(self, path, make)
        try:
            return walk.folder()
        finally:
            walk.close()


class _Walk:
    """One walk: a stack of open folders, from a root to where it stands, and the parts still to go."""

    def __init__(self, folders: Folders, path: str, make_folders: bool) -> None:
        self._folders = folders
        self._path = path
        self._make = make_folders
        self._links = 0
        self._stack: list[int] = []
        self._rest: list[str] = []
        self._enter(path)

    def _enter(self, path: str) -> None:
        try:
            root, parts = self._folders.split(path)
        except PermissionError:
            raise leaves(self._path) from None
        self.close()
        self._stack.append(os.open(root.outside, _FOLDER))
        self._rest = parts

    def open(self, flags: int, mode: int) -> int:
        while self._rest:
            part = self._rest.pop(0)
            if part == "..":
                self._up()
            elif self._rest:
                self._down(part)
            else:
                try:
                    return os.open(part, flags | _FILE, mode, dir_fd=self._stack[-1])
                except OSError as problem:
                    if problem.errno not in (errno.ELOOP, errno.EMLINK):
                        raise OSError(problem.errno, problem.strerror, self._path) from None
                    self._follow(part)
        raise IsADirectoryError(errno.EISDIR, "is a folder", self._path)

    def folder(self) -> int:
        while self._rest:
            part = self._rest.pop(0)
            if part == "..":
                self._up()
            else:
                self._down(part)
        return os.open(".", _LISTED, dir_fd=self._stack[-1])

    def _up(self) -> None:
        if len(self._stack) == 1:
            raise leaves(self._path)
        os.close(self._stack.pop())

    def _down(self, part: str) -> None:
        here = self._stack[-1]
        if self._make:
            try:
                os.mkdir(part, dir_fd=here)
            except FileExistsError:
                pass
        try:
            self._stack.append(os.open(part, _FOLDER, dir_fd=here))
        except OSError as problem:
            if problem.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(part, here):
                self._follow(part)
            else:
                raise OSError(problem.errno, problem.strerror, self._path) from None

    def _follow(self, part: str) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise OSError(errno.ELOOP, "too many links", self._path)
        target = os.readlink(part, dir_fd=self._stack[-1])
        if target.startswith("/"):
            rest = self._rest
            self._enter(target)
            self._rest += rest
        else:
            self._rest = _parts(target) + self._rest

    def close(self) -> None:
        while self._stack:
            os.close(self._stack.pop())


def leaves(path: str) -> PermissionError:
    """The error for a path that is not of the trial."""
    return PermissionError(errno.EACCES, "the path leaves the sandbox", path)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _is_link(part: str, folder: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _regular(fd: int, path: str) -> int:
    """``fd`` when it is a regular file. A pipe or a device would block the host or worse."""
    kind = os.fstat(fd).st_mode
    if stat.S_ISREG(kind):
        return fd
    os.close(fd)
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
    raise OSError(errno.EINVAL, "is not a regular file", path)
