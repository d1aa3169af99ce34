"""Small text files the agent left, kept beside the trial's record after redaction."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from sphynx.results.artifacts import select
from sphynx.schema.records import ArtifactRecord

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial


def keep(trial: Trial) -> list[ArtifactRecord]:
    """Write what passes the filter into the trial's folder and list it. A full disk keeps none."""
    contents = trial.changes.contents
    if not contents:
        return []
    folder = trial.machine.folder.trial_folder(trial.job.key)
    kept = []
    try:
        for number, (path, text) in enumerate(select(contents, trial.redactor), start=1):
            data = text.encode()
            name = f"artifact-{number}{PurePosixPath(path).suffix}"
            (folder / name).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            kept.append(ArtifactRecord(path=path, byte_size=len(data), sha256=digest, file=name))
    except OSError as error:
        trial.notes.append(f"the changed files were not kept: {error.strerror}")
    return kept
