"""The batch folder: what is on disk at any moment, and how it is found again."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from sphynx.contracts import TrialKey
from sphynx.engine.batch_folder import (
    BatchFolder,
    find_batch,
    list_batches,
    new_batch_id,
    read_batch,
    read_events,
)
from sphynx.engine.record_files import BatchLock, refuse_if_held
from sphynx.errors import SphynxError, UsageError
from sphynx.journal.events import Message
from sphynx.schema.records import BatchRecord, RunPlan, TrialRecord

KEY = TrialKey("b", "s", "one", "nop/x", 1)


def batch(batch_id: str = "b") -> BatchRecord:
    run = RunPlan(
        case_id="one", case_name="One", variant="nop/x", harness="nop", model="x", definition_hash="h",
        trials=1,
    )  # fmt: skip
    return BatchRecord(
        id=batch_id, suite_id="s", suite_name="S", file="s_eval.py", runs=[run], sphynx_version="1",
        started_at="t",
    )  # fmt: skip


def trial(status: str = "passed") -> TrialRecord:
    return TrialRecord(
        id="b/one", batch_id="b", suite_id="s", case_id="one", variant="nop/x", ordinal=1, status=status,
        isolation="none", harness="nop", harness_version="", model="x", started_at="t", duration_ms=1,
    )  # fmt: skip


def started(root: Path) -> BatchFolder:
    folder = BatchFolder.create(root, "b")
    folder.batch_started(batch())
    folder.trial_started(KEY)
    return folder


def test_ids_are_date_time_and_four_characters_and_differ() -> None:
    ids = {new_batch_id() for _ in range(50)}
    assert len(ids) > 45
    assert all(re.fullmatch(r"\d{8}-\d{6}-[a-z2-9]{4}", one) for one in ids)


def test_events_are_on_disk_before_the_trial_ends(tmp_path: Path) -> None:
    folder = started(tmp_path)
    folder.event(KEY, Message(role="assistant", text="hi", at=1))
    (stored,) = read_batch(folder.path).trials
    assert stored.record is None
    assert list(read_events(stored.folder)) == [Message(role="assistant", text="hi", at=1)]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    folder = started(tmp_path)
    folder.event(KEY, Message(role="assistant", text="whole", at=1))
    path = folder.trial_folder(KEY) / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"_tag":"Message","role":"assi')
    assert [event.text for event in read_events(path.parent) if isinstance(event, Message)] == ["whole"]


def test_a_record_is_whole_and_a_cancelled_trial_has_none(tmp_path: Path) -> None:
    folder = started(tmp_path)
    folder.trial_ended(KEY, trial("cancelled"))
    assert read_batch(folder.path).recorded == []
    folder.trial_started(KEY)
    folder.trial_ended(KEY, trial())
    assert [record.status for record in read_batch(folder.path).recorded] == ["passed"]
    assert json.loads((folder.path / "trials/one--1-1.2/trial.json").read_text())["caseId"] == "one"
    assert not list(folder.path.rglob("*.part"))


def test_a_batch_is_found_by_id_beginning_or_path_from_below(tmp_path: Path) -> None:
    folder = BatchFolder.create(tmp_path, "20260101-000000-aaaa")
    folder.batch_started(batch("20260101-000000-aaaa"))
    BatchFolder.create(tmp_path, "20260102-000000-bbbb").batch_started(batch())
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_batch(deep, "20260101-000000-aaaa") == folder.path
    assert find_batch(tmp_path, "20260101") == folder.path
    assert find_batch(tmp_path, str(folder.path)) == folder.path
    assert [path.name[-4:] for path in list_batches(tmp_path)] == ["bbbb", "aaaa"]
    with pytest.raises(UsageError, match="begins several"):
        find_batch(tmp_path, "2026")
    with pytest.raises(UsageError, match="no batch"):
        find_batch(tmp_path, "x")


def test_results_ignore_themselves_in_git(tmp_path: Path) -> None:
    BatchFolder.create(tmp_path, "b")
    assert (tmp_path / ".sphynx" / ".gitignore").read_text().endswith("*\n")


def test_a_folder_that_cannot_be_made_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / ".sphynx").write_text("a file in the way")
    with pytest.raises(SphynxError, match="cannot write results"):
        BatchFolder.create(tmp_path, "b")


def test_text_that_is_not_utf8_does_not_stop_a_record(tmp_path: Path) -> None:
    """What comes from names of files or from variables may hold bytes that are no UTF-8."""
    folder = started(tmp_path)
    folder.trial_ended(KEY, trial().model_copy(update={"reason": "b\udcff", "files_changed": ["a\udcff"]}))
    [stored] = read_batch(folder.path).trials
    assert stored.record is not None
    assert (stored.record.reason, stored.record.files_changed) == ("b?", ["a?"])


def recorded(root: Path) -> BatchFolder:
    folder = started(root)
    folder.trial_ended(KEY, trial())
    return folder


@pytest.mark.parametrize("left", ["", "{", '{"format":1}', "pipe"])
def test_a_broken_trial_record_is_a_trial_without_one(tmp_path: Path, left: str) -> None:
    """A note names the file; nothing waits for a pipe that lies in its place."""
    folder = recorded(tmp_path)
    path = folder.path / "trials" / "one--1-1" / "trial.json"
    path.unlink()
    os.mkfifo(path) if left == "pipe" else path.write_text(left)
    stored = read_batch(folder.path)
    assert (stored.recorded, len(stored.trials)) == ([], 1)
    (note,) = stored.notes
    assert str(path) in note and note.endswith("the trial counts as one without a record")


def test_an_earlier_attempt_stands_when_the_later_record_is_broken(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    folder.trial_started(KEY)
    (folder.trial_folder(KEY) / "trial.json").write_text("")
    assert [record.status for record in read_batch(folder.path).recorded] == ["passed"]


@pytest.mark.parametrize("left", ["", "{}", "pipe"])
def test_a_broken_batch_record_is_one_line_with_a_next_step(tmp_path: Path, left: str) -> None:
    path = recorded(tmp_path).path / "batch.json"
    path.unlink()
    os.mkfifo(path) if left == "pipe" else path.write_text(left)
    with pytest.raises(SphynxError, match=r"batch\.json") as caught:
        read_batch(find_batch(tmp_path, "b"))
    assert "\n" not in caught.value.message and "starts a new batch" in str(caught.value.hint)


def test_a_journal_that_is_a_pipe_has_no_events(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "journal.jsonl")
    assert list(read_events(tmp_path)) == []


@pytest.mark.parametrize("name", ["batch.json", "trials/one--1-1/trial.json"])
def test_a_record_of_a_newer_format_is_refused(tmp_path: Path, name: str) -> None:
    """Also when it has keys that are not known here: it is not broken, it is newer."""
    folder = recorded(tmp_path)
    path = folder.path / name
    for value in ({**json.loads(path.read_text()), "format": 2}, {"format": 2, "all": "new"}):
        path.write_text(json.dumps(value))
        with pytest.raises(SphynxError, match="made by a newer sphynx"):
            read_batch(folder.path)


def test_a_batch_is_run_by_one_at_a_time(tmp_path: Path) -> None:
    """Who comes second is told who has it; when the first is done, the batch is free."""
    path = recorded(tmp_path).path
    held = BatchLock(path)
    with pytest.raises(UsageError, match=f"batch b is being run by process {os.getpid()} since"):
        refuse_if_held(path)
    held.release()
    refuse_if_held(path)
    assert not (path / "lock").exists()
