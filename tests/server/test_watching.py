"""What whoever keeps a server running can see and do while trials run: health, metrics, logs, backups."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
from pathlib import Path

import httpx
import pytest

from server.whole import project, until, whole
from sphynx.compiler import compile_eval

pytestmark = pytest.mark.server


def test_a_running_server_is_measured_copied_and_stopped_and_its_copy_finishes_the_batch(
    tmp_path: Path,
) -> None:
    """A backup taken in the middle of a batch is whole: a server on it goes on with what was open."""
    marks = tmp_path / "marks"
    marks.mkdir()
    waits = f"touch {marks}/$$\nif [ ! -e {marks}/go ]; then sleep 300; fi\n"
    home = project(tmp_path / "project", f"{waits}echo hello > hello.txt\n")
    data, copy = tmp_path / "data", tmp_path / "copy"
    copy.mkdir()
    with whole(data, "--no-isolate") as server:
        with server.client() as client:
            started = client.evals.batches.start(compile_eval(home / "smoke_eval.py")[0])
        until(lambda: len(list(marks.iterdir())) == 2)
        for path in ("healthz", "readyz"):
            assert httpx.get(f"{server.url}/{path}").json() == {"ok": True}
        metrics = httpx.get(f"{server.url}/metrics").text.splitlines()
        assert 'sphynx_trials{status="running"} 2' in metrics
        assert 'sphynx_batches{status="running"} 1' in metrics
        done = server.cli("admin", "backup", str(copy / "sphynx.db"), "--data", str(data), cwd=home)
        assert done.returncode == 0, done.stderr
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
    with sqlite3.connect(copy / "sphynx.db") as store:
        assert store.execute("pragma integrity_check").fetchall() == [("ok",)]
    store.close()
    shutil.copy(data / "master.key", copy / "master.key")
    for line in server.log.read_text().splitlines():
        told = json.loads(line)
        assert {"at", "level", "logger", "message"} <= set(told)
    (marks / "go").touch()
    with whole(copy, "--no-isolate", key=server.key) as again, again.client() as client:
        batch = client.evals.batches.wait(started.id, poll_interval_ms=200, timeout_ms=60_000)
        assert [trial.status for run in batch.runs for trial in run.trials] == ["passed"] * 2


def test_limits_that_cannot_be_read_are_told_before_a_server_starts(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match="SPHYNX_LIMITS: cannot read 'codex=lots'"),
        whole(tmp_path / "data", environ={"SPHYNX_LIMITS": "codex=lots"}),
    ):
        pass
