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


def read_text(workspace: str, path: str) -> str:
    """The file as UTF-8 text; other bytes become replacement marks, line ends stay.

    Raises :class:`MissingFileError` when it is missing, ``OSError`` when it is no regular file (an agent may
    have left a pipe or a device) or larger than 256 MiB.
    """
    full = os.path.join(workspace, path)
    # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    try:
        descriptor = os.open(full, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"there is no {path} in the workspace") from None
    with open(descriptor, "rb") as source:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            code = errno.EISDIR if stat.S_ISDIR(found.st_mode) else errno.EINVAL
            raise OSError(code, "not a regular file", path)
        if found.st_size > LARGEST:
            raise OSError(errno.EFBIG, f"larger than {LARGEST:,} bytes", path)
        data = source.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"larger than {LARGEST:,} bytes", path)
    return data.decode("utf-8", "replace")


def write_text(workspace: str, path: str, text: str) -> None:
    """Write UTF-8 text, making the folders that lead to it."""
    full = os.path.join(workspace, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8", newline="") as target:
        target.write(text)


def exists(workspace: str, path: str) -> bool:
    """Whether something is there. A part of the path that is a file counts as "no"; other errors raise."""
    try:
        os.stat(os.path.join(workspace, path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
