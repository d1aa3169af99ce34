"""Small text files the agent left, kept beside the trial's record after redaction."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from sphynx.engine.batch_folder import write_private
from sphynx.results.artifacts import safe_diff, select
from sphynx.schema.records import ArtifactRecord

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial


def keep_unread(trial: Trial) -> None:
    """Write the lines the agent's harness did not understand into ``unread.txt``, redacted."""
    lines = trial.talk.unread if trial.talk else ()
    if lines:
        text = "\n".join(trial.redactor.text(line) for line in lines) + "\n"
        folder = trial.machine.folder.trial_folder(trial.job.key)
        try:
            write_private(folder / "unread.txt", text.encode("utf-8", "replace"))
            trial.notes.append(f"{len(lines)} lines of the agent's output were not understood: unread.txt")
        except OSError as error:
            trial.notes.append(f"{len(lines)} lines nobody understood were not kept: {error.strerror}")


DIFF = "changes.diff"
"""The name under which the diff is kept; no changed file of that ending ever is."""


def shown_diff(trial: Trial) -> str:
    """The agent's diff, redacted, without files that may hold secrets; a note names those."""
    text, left_out = safe_diff(trial.redactor.diff(trial.changes.text))
    if left_out:
        trial.notes.append("left out of the diff, they may hold secrets: " + ", ".join(left_out))
    return text


def keep(trial: Trial, diff: str) -> list[ArtifactRecord]:
    """Write what passes the filter into the trial's folder, and the diff; list it. A full disk keeps none."""
    contents = trial.changes.contents
    if not contents and not diff:
        return []
    folder = trial.machine.folder.trial_folder(trial.job.key)
    kept: list[ArtifactRecord] = []

    def put(path: str, name: str, text: str) -> None:
        data = text.encode("utf-8", "replace")
        write_private(folder / name, data)
        digest = hashlib.sha256(data).hexdigest()
        kept.append(ArtifactRecord(path=path, byte_size=len(data), sha256=digest, file=name))

    try:
        for number, (path, text) in enumerate(select(contents, trial.redactor), start=1):
            put(path, f"artifact-{number}{PurePosixPath(path).suffix}", text)
        if diff:
            put(DIFF, DIFF, diff)
    except OSError as error:
        trial.notes.append(f"the changed files were not kept: {error.strerror}")
    return kept
