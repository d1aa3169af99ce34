"""Reading the records of a batch folder: whatever lies there, a reader gets a record or why there is none."""

from __future__ import annotations

import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from sphynx.errors import SphynxError, UsageError
from sphynx.journal.store import open_regular

FORMAT = 1
"""The newest format of ``batch.json`` and ``trial.json`` that is understood."""
LOCK = "lock"

R = TypeVar("R", bound=BaseModel)


class BrokenRecordError(SphynxError):
    """A record that is not whole; ``message`` says which file and why."""


def read_record(kind: type[R], path: Path) -> R:
    """The record in ``path``. Never waits for a pipe or a device.

    ``FileNotFoundError`` when there is none, ``BrokenRecordError`` when it is broken, ``SphynxError`` when a
    newer version of sphynx wrote it.
    """
    try:
        with open_regular(path) as file:
            data = file.read()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BrokenRecordError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        record = kind.model_validate_json(data)
    except ValidationError as error:
        _refuse_newer(_format_of(data), path)
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        why = "it is empty" if not data.strip() else f"{where}: {fault['msg']}" if where else fault["msg"]
        raise BrokenRecordError(f"cannot read {path}: {why}") from error
    _refuse_newer(getattr(record, "format", FORMAT), path)
    return record


def _format_of(data: bytes) -> object:
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value.get("format") if isinstance(value, dict) else None


def _refuse_newer(found: object, path: Path) -> None:
    if isinstance(found, int) and found > FORMAT:
        raise SphynxError(
            f"{path} was made by a newer sphynx: its format is {found}, this one reads up to {FORMAT}",
            hint="pip install --upgrade sphynx-sh",
        )


class BatchLock:
    """One run at a time works on a batch. Held until ``release()`` or the end of the process."""

    def __init__(self, folder: Path) -> None:
        """Take it, or raise ``UsageError`` that says who has it."""
        self._path = folder / LOCK
        while True:
            self._file = self._path.open("a+b")
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._file.seek(0)
                holder = self._file.read(200)
                self._file.close()
                raise _held(folder, holder) from None
            except OSError:
                return  # a file system without locks: nobody can be kept out
            if self._is_there():
                break
            self._file.close()  # its holder released and removed it between the two lines above
        me = {"pid": os.getpid(), "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"}
        self._file.truncate(0)
        self._file.write(json.dumps(me).encode())
        self._file.flush()

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            return False

    def release(self) -> None:
        """Let others have it, and leave nothing."""
        if not self._file.closed:
            self._path.unlink(missing_ok=True)
            self._file.close()


def refuse_if_held(folder: Path) -> None:
    """``UsageError`` when a run works on the batch in ``folder`` now."""
    BatchLock(folder).release()


def _held(folder: Path, holder: bytes) -> UsageError:
    try:
        found = json.loads(holder)
        who, stop = f"process {found['pid']} since {found['since']}", f"kill -INT {found['pid']}"
    except (ValueError, KeyError, TypeError):
        who, stop = "another process", "Ctrl-C where it runs"
    return UsageError(
        f"batch {folder.name} is being run by {who}", hint=f"wait until it is done, or stop it: {stop}"
    )
