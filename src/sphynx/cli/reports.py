"""``--output``, ``--junit`` and ``--json``: a ``ResultSink`` that keeps the reports true at every step."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sphynx.cli.drive import batch_folder
from sphynx.cli.eval_request import EvalRequest
from sphynx.cli.out import Out
from sphynx.cli.render.problems import relative
from sphynx.contracts import TrialKey
from sphynx.engine import LocalPlan
from sphynx.errors import SphynxError
from sphynx.journal.events import Event
from sphynx.schema.records import BatchRecord, TrialRecord


class Reports:
    """One entry per suite: ``{batchId, file, suite, batch, error, problems}``."""

    def __init__(self, request: EvalRequest, plan: LocalPlan, out: Out) -> None:
        self._request = request
        self._out = out
        self._plan = plan
        self._entries: dict[str, dict[str, Any]] = {
            suite.batch_id: {
                "batchId": None,
                "file": relative(str(suite.compiled.file), plan.options.cwd),
                "suite": suite.compiled.suite.id,
                "batch": None,
                "error": None,
                "problems": [],
            }
            for suite in plan.suites
        }
        self._ended: dict[str, tuple[BatchRecord, list[TrialRecord]]] = {
            suite.batch_id: (suite.resumed, list(suite.earlier)) for suite in plan.suites if suite.resumed
        }
        self._records: dict[str, list[TrialRecord]] = {s.batch_id: list(s.earlier) for s in plan.suites}
        self._write_output()

    def batch_started(self, batch: BatchRecord) -> None:
        """The batch has an id now."""
        self._entries[batch.id]["batchId"] = batch.id
        self._write_output()

    def trial_started(self, key: TrialKey) -> None:
        """Nothing to report yet."""

    def event(self, key: TrialKey, event: Event) -> None:
        """Read from the journal at the end."""

    def output(self, key: TrialKey, stage: str, text: str) -> None:
        """Setup output is in no report."""

    def trial_ended(self, key: TrialKey, record: TrialRecord) -> None:
        """Kept for the JUnit report."""
        self._records[key.batch_id].append(record)

    def batch_ended(self, batch: BatchRecord) -> None:
        """The whole batch goes into the reports, and onto stdout with ``--json``."""
        self._ended[batch.id] = (batch, self._records[batch.id])
        if self._request.output is not None or self._request.json:
            from sphynx.cli.wire import wire_batch

            wire = wire_batch(batch_folder(self._plan, batch.id), self._records[batch.id])
            self._entries[batch.id]["batch"] = wire
            if self._request.json:
                self._out.line(json.dumps(wire, indent=2, ensure_ascii=False))
        self._write_output()
        self._write_junit()

    def note(self, text: str) -> None:
        """Notes are for people who watch."""

    def conclude(self, batch_id: str, error: str | None, problems: Sequence[str]) -> None:
        """What the gate said of one batch."""
        self._entries[batch_id].update(error=error, problems=list(problems))
        self._write_output()

    def _write_output(self) -> None:
        if self._request.output is not None:
            data = json.dumps(list(self._entries.values()), ensure_ascii=False, separators=(",", ":"))
            write_file(self._request.output, data.encode("utf-8", "replace") + b"\n")

    def _write_junit(self) -> None:
        if self._request.junit is not None:
            ended = [self._ended[batch_id] for batch_id in self._entries if batch_id in self._ended]
            from sphynx.cli.render.junit import junit_xml

            write_file(self._request.junit, junit_xml(ended))


def write_file(path: Path, data: bytes) -> None:
    """Write beside ``path`` and rename, so that a reader never meets half a report."""
    try:
        with tempfile.NamedTemporaryFile(
            dir=path.absolute().parent, prefix=f".{path.name}.", delete=False
        ) as part:
            part.write(data)
        Path(part.name).chmod(0o644)
        Path(part.name).replace(path)
    except OSError as error:
        raise SphynxError(f"cannot write {path}: {error.strerror or error}") from error
