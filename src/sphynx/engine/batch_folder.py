"""The batch folder on disk: ``.sphynx/batches/<id>/`` with ``batch.json`` and one folder per trial.

A trial's folder is ``trials/<case>--<variant number>-<ordinal>``; a later attempt at the same trial gets
``.2``, ``.3`` ... behind it and never touches what an earlier one left. ``journal.jsonl`` is appended to,
unbuffered, as events arrive; ``trial.json`` is written once, synced and renamed into place, so it is there
whole or not at all.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_core import PydanticSerializationError

from sphynx.contracts import TrialKey
from sphynx.engine.record_files import BrokenRecordError, read_record
from sphynx.errors import SphynxError, UsageError
from sphynx.journal import store
from sphynx.journal.events import Event
from sphynx.schema.records import BatchRecord, TrialRecord

_BROKEN_HINT = "what its trials left stays in its trials folder; sphynx eval --local starts a new batch"
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"


def new_batch_id(now: float | None = None) -> str:
    """``20261130-211405-k3f9``: local date and time, then four random characters."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    return f"{stamp}-{''.join(secrets.choice(_ALPHABET) for _ in range(4))}"


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial found on disk. ``record`` is ``None`` while it has none (it runs, or was cut off)."""

    record: TrialRecord | None
    folder: Path


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """A batch found on disk: the newest recorded attempt of every trial, and the folders without one."""

    record: BatchRecord
    trials: list[StoredTrial]
    folder: Path
    notes: list[str] = field(default_factory=list[str])
    """Records that cannot be read, one line each: their trials count as trials without one."""

    @property
    def recorded(self) -> list[TrialRecord]:
        """The records there are."""
        return [trial.record for trial in self.trials if trial.record is not None]


class _OpenTrial:
    __slots__ = ("fd", "folder")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.fd = -1

    def append(self, line: bytes) -> None:
        if self.fd < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.fd = os.open(f"{self.folder}/journal.jsonl", flags, 0o600)
        view = memoryview(line)
        while view:
            view = view[os.write(self.fd, view) :]

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class BatchFolder:
    """Writes one batch's folder. A ``ResultSink``, except that a full disk raises ``OSError``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open: dict[TrialKey, _OpenTrial] = {}
        self._labels: dict[str, int] = {}

    @classmethod
    def create(cls, root: Path, batch_id: str) -> BatchFolder:
        """Make ``<root>/.sphynx/batches/<id>``; ``root`` is the project root."""
        home = root / ".sphynx"
        path = home / "batches" / batch_id
        try:
            (path / "trials").mkdir(parents=True, exist_ok=True)
            ignore = home / ".gitignore"
            if not ignore.exists():
                ignore.write_text("# Results of sphynx eval --local\n*\n")
        except OSError as error:
            raise SphynxError(
                f"cannot write results into {home}: {error.strerror}",
                hint="run from a folder you can write to",
            ) from error
        return cls(path)

    def batch_started(self, batch: BatchRecord) -> None:
        """Write ``batch.json`` before the first trial."""
        for run in batch.runs:
            self._labels.setdefault(run.variant, len(self._labels) + 1)
        self._write("batch.json", self.path, batch)

    def trial_started(self, key: TrialKey) -> None:
        """Make a new folder for this attempt."""
        number = self._labels.setdefault(key.label, len(self._labels) + 1)
        name = f"{key.case_id}--{number}-{key.ordinal}"
        folder = first = f"{self.path}/trials/{name}"
        attempt = 1
        while True:
            try:
                os.mkdir(folder)  # noqa: PTH102 - strings on the way of every trial, they are cheaper
                break
            except FileExistsError:
                attempt += 1
                folder = f"{first}.{attempt}"
        self._open[key] = _OpenTrial(folder)

    def trial_folder(self, key: TrialKey) -> Path:
        """The folder of a trial that runs now."""
        return Path(self._open[key].folder)

    def event(self, key: TrialKey, event: Event) -> None:
        """Append one event, which is already redacted, to the journal."""
        self._open[key].append(store.encode(event))

    def output(self, key: TrialKey, stage: str, text: str) -> None:
        """Setup output is shown, not kept."""

    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None:
        """Write ``trial.json``; a cancelled trial gets none, so that resuming runs it."""
        trial = self._open.pop(key, None)
        if trial is None:
            return
        trial.close()
        if record.status != "cancelled":
            self._write("trial.json", trial.folder, record)

    def batch_ended(self, batch: BatchRecord) -> None:
        """Write ``batch.json`` again with how it ended."""
        for trial in self._open.values():
            trial.close()
        self._open.clear()
        self._write("batch.json", self.path, batch)

    def note(self, text: str) -> None:
        """Notes are for people who watch."""

    def _write(self, name: str, folder: str | Path, record: BatchRecord | TrialRecord) -> None:
        write_atomically(f"{folder}/{name}", _json(record) + b"\n")


def _json(record: BatchRecord | TrialRecord) -> bytes:
    try:
        return record.model_dump_json(by_alias=True).encode()
    except PydanticSerializationError:
        # Names of files and values of variables need not be UTF-8; what is not becomes a question mark.
        return json.dumps(record.model_dump(by_alias=True), ensure_ascii=False).encode("utf-8", "replace")


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write beside ``path``, sync, rename: the file is there whole or not at all."""
    part = f"{path}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(part, path)  # noqa: PTH105


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only this user can read."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)


def batches_folder(root: Path) -> Path:
    """Where the batches of a project are kept."""
    return root / ".sphynx" / "batches"


def list_batches(root: Path) -> list[Path]:
    """Batch folders, newest first."""
    home = batches_folder(root)
    if not home.is_dir():
        return []
    found = (path.parent for path in home.glob("*/batch.json") if path.is_file())
    return sorted(found, key=lambda p: p.name, reverse=True)


def find_batch(cwd: Path, batch_id: str) -> Path:
    """The folder of a batch: its id, an unambiguous beginning of it, or a path to the folder.

    Raises ``UsageError`` naming the newest batches when there is none.
    """
    direct = (cwd / batch_id).resolve()
    if (direct / "batch.json").is_file():
        return direct
    found = [path for folder in (cwd, *cwd.parents) for path in list_batches(folder)]
    exact = [path for path in found if path.name == batch_id]
    begins = exact or [path for path in found if batch_id and path.name.startswith(batch_id)]
    if len(begins) == 1:
        return begins[0]
    _refuse_without_record(cwd, batch_id)
    newest = ", ".join(path.name for path in found[:5])
    if begins:
        raise UsageError(f'"{batch_id}" begins several batch ids: {", ".join(p.name for p in begins[:5])}')
    hint = f"the newest are {newest}" if newest else "no local run has been recorded here"
    raise UsageError(f'there is no batch "{batch_id}"', hint=hint)


def read_batch(folder: Path) -> StoredBatch:
    """Read a batch: its record, and per trial the newest attempt that has one.

    A trial whose record is broken is one without a record, which ``notes`` tell. ``SphynxError`` when
    ``batch.json`` is broken, or a newer version of sphynx made any of the records.
    """
    try:
        record = read_record(BatchRecord, folder / "batch.json")
    except FileNotFoundError as error:
        raise SphynxError(f"there is no {folder / 'batch.json'}", hint=_BROKEN_HINT) from error
    except BrokenRecordError as error:
        raise SphynxError(error.message, hint=_BROKEN_HINT) from error
    newest: dict[str, StoredTrial] = {}
    notes: list[str] = []
    for path in sorted(_trial_folders(folder), key=_attempt):
        trial = StoredTrial(_read_trial(path, notes), path)
        name = path.name.partition(".")[0]
        if trial.record is not None or name not in newest:
            newest[name] = trial
    return StoredBatch(record, list(newest.values()), folder, notes)


def read_events(trial_folder: Path) -> Iterator[Event]:
    """The journal of a trial, oldest first; a last line that was cut off is left out."""
    return store.read(trial_folder / "journal.jsonl")


def _trial_folders(folder: Path) -> Iterable[Path]:
    home = folder / "trials"
    return [path for path in home.iterdir() if path.is_dir()] if home.is_dir() else []


def _attempt(path: Path) -> tuple[str, int]:
    name, _, number = path.name.partition(".")
    return name, int(number) if number.isdigit() else 1


def _read_trial(path: Path, notes: list[str]) -> TrialRecord | None:
    try:
        return read_record(TrialRecord, path / "trial.json")
    except FileNotFoundError:
        return None
    except BrokenRecordError as error:
        notes.append(f"{error.message}; the trial counts as one without a record")
        return None


def _refuse_without_record(cwd: Path, batch_id: str) -> None:
    """A batch that is named whole and whose ``batch.json`` is not there, or is no file."""
    for folder in (cwd / batch_id, *(batches_folder(root) / batch_id for root in (cwd, *cwd.parents))):
        if batch_id and (folder / "trials").is_dir():
            raise SphynxError(
                f"{folder / 'batch.json'} is not there, or is no regular file", hint=_BROKEN_HINT
            )
