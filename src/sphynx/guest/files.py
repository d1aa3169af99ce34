"""Reading and writing the trial's workspace from a check or a prepare."""

from __future__ import annotations

import errno
import os
import stat

LARGEST = 256 * 1024 * 1024


class MissingFileError(AssertionError, FileNotFoundError):
    """The agent left no such file.

    Both an assertion, so that a check which reads it has *failed* rather than crashed (an agent that did not
    write its file must count), and a ``FileNotFoundError``, so that authors can expect it as usual.
    """


class UnreadableFileError(AssertionError, OSError):
    """What the agent left at the path cannot be read as a file: a pipe, a loop of links, something huge.

    An assertion for the same reason: else an agent that cannot pass could make the trial void.
    """


class FolderInPlaceError(UnreadableFileError, IsADirectoryError):
    """The agent left a folder where the file should be."""


class LockedFileError(UnreadableFileError, PermissionError):
    """The agent left the file, or a folder on the way to it, without the right to read it."""


_OF_THE_AGENT: dict[int, tuple[type[UnreadableFileError], str]] = {
    errno.EISDIR: (FolderInPlaceError, "is a folder, not a file"),
    errno.EACCES: (LockedFileError, "may not be read"),
    errno.EPERM: (LockedFileError, "may not be read"),
    errno.ELOOP: (UnreadableFileError, "is a link that leads back to itself"),
    errno.EINVAL: (UnreadableFileError, "is not a regular file"),
    errno.ENXIO: (UnreadableFileError, "is not a regular file"),
    errno.ENODEV: (UnreadableFileError, "is not a regular file"),
    errno.EFBIG: (UnreadableFileError, f"is larger than {LARGEST:,} bytes"),
}
"""Ways in which the thing at a path cannot be read, by the error they are; others are the machine's."""


def read_text(workspace: str, path: str) -> str:
    """The file as UTF-8 text; other bytes become replacement marks, line ends stay.

    Raises :class:`MissingFileError` when it is missing, :class:`UnreadableFileError` when it is no regular
    file (an agent may have left a folder, a pipe or a device), may not be read, or is larger than 256 MiB.
    """
    full = os.path.join(workspace, path)
    # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    try:
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"there is no {path} in the workspace") from None
    except OSError as error:
        raise _named(error, path) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _left(errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL, path)
        if found.st_size > LARGEST:
            raise _left(errno.EFBIG, path)
        with open(descriptor, "rb", closefd=False) as source:
            data = source.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST:
        raise _left(errno.EFBIG, path)
    return data.decode("utf-8", "replace")


def _named(error: OSError, path: str) -> OSError:
    code = error.errno or 0
    return _left(code, path) if code in _OF_THE_AGENT else OSError(code, error.strerror, path)


def _left(code: int, path: str) -> UnreadableFileError:
    kind, why = _OF_THE_AGENT[code]
    error = kind(f"{path} {why}")
    error.errno = code
    return error


def write_text(workspace: str, path: str, text: str) -> None:
    """Write UTF-8 text, making the folders that lead to it."""
    full = os.path.join(workspace, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8", newline="") as target:
        target.write(text)


def exists(workspace: str, path: str) -> bool:
    """Whether something is there. A part of the path that is a file counts as "no"; other errors raise.

    :class:`UnreadableFileError` when the agent left it so that nobody can tell.
    """
    try:
        os.stat(os.path.join(workspace, path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _named(error, path) from None
    return True
