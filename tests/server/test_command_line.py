"""``sphynx eval`` against a whole server: what is shown while it waits, what is left when it is stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from command_line import in_terminal, plain

from server.whole import SPHYNX, Whole, clean_env, project, until, whole

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    with whole(tmp_path_factory.mktemp("served") / "data") as found:
        yield found


def environment(server: Whole, home: Path) -> dict[str, str]:
    keys = {"SPHYNX_API_KEY": server.key, "SPHYNX_BASE_URL": server.url}
    return {**clean_env(home), **keys, "TERM": "xterm-256color", "LANG": "C.UTF-8"}


def test_in_a_terminal_the_grid_turns_until_the_batch_ends(server: Whole, tmp_path: Path) -> None:
    home = project(tmp_path, "sleep 2; echo hello > hello.txt")
    command = [SPHYNX, "eval", "smoke_eval.py", "--junit", "report.xml"]
    code, shown = in_terminal(command, home, environment(server, home), (40, 100))
    assert code == 0, shown
    assert "running" in shown
    assert "\x1b[J" in shown
    assert "2 trials: 2 passed" in plain(shown)
    assert plain(shown).count("organization Default") == 1
    assert 'tests="2" failures="0"' in (home / "report.xml").read_text()


def test_what_failed_is_told_with_its_check(server: Whole, tmp_path: Path) -> None:
    home = project(tmp_path, "echo helo > hello.txt")
    done = server.cli("eval", "smoke_eval.py", cwd=home)
    assert done.returncode == 2, done.stderr
    assert "✗ failed" in done.stdout
    assert "says_hello did not pass" in done.stdout
    assert "error: gate failed: 1 trial failed (--fail-on failures)" in done.stderr


def test_after_ctrl_c_the_batch_goes_on_and_the_command_says_where(server: Whole, tmp_path: Path) -> None:
    home = project(tmp_path, "sleep 4; echo hello > hello.txt")
    child = subprocess.Popen(
        [SPHYNX, "eval", "smoke_eval.py", "--output", "report.json"], cwd=home, text=True,
        env=environment(server, home), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    report = home / "report.json"
    until(lambda: report.exists() and json.loads(report.read_text())[0]["batchId"])
    os.kill(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=20)
    assert child.returncode == 130
    (batch_id,) = re.findall(r"goes on at the server: sphynx batches get (\S+)", err)
    assert json.loads(report.read_text())[0]["error"] == "interrupted: the batch goes on at the server"
    with server.client() as sphynx:
        assert sphynx.evals.batches.wait(batch_id, timeout_ms=60_000).status == "finished"


def test_a_wait_that_takes_too_long_is_an_error_and_cancels_nothing(server: Whole, tmp_path: Path) -> None:
    home = project(tmp_path, "sleep 3; echo hello > hello.txt")
    done = server.cli("eval", "smoke_eval.py", "--timeout", "0.5", cwd=home)
    assert done.returncode == 1
    (batch_id,) = re.findall(r"it was not cancelled: sphynx batches get (\w+)", done.stderr)
    with server.client() as sphynx:
        assert sphynx.evals.batches.wait(batch_id, timeout_ms=60_000).status == "finished"


def test_a_dry_run_starts_nothing_and_knows_what_the_server_has(server: Whole, tmp_path: Path) -> None:
    home = project(tmp_path, "true", variables='["SEARCH_API_KEY"]')
    lacking = server.cli("eval", "--dry-run", "smoke_eval.py", cwd=home)
    assert (lacking.returncode, "not stored" in lacking.stdout) == (1, True), lacking.stderr
    assert server.cli("env", "set", "SEARCH_API_KEY", cwd=home, stdin="x" * 20).returncode == 0
    ready = server.cli("eval", "--dry-run", "smoke_eval.py", cwd=home)
    assert (ready.returncode, "organization Default" in ready.stdout) == (0, True), ready.stderr
    removed = json.loads(server.cli("env", "remove", "SEARCH_API_KEY", "--json", cwd=home).stdout)
    assert removed == {"name": "SEARCH_API_KEY", "scope": "organization"}


def test_without_waiting_the_started_batch_is_printed(server: Whole, tmp_path: Path) -> None:
    home = project(tmp_path, "true")
    started = json.loads(server.cli("eval", "smoke_eval.py", "--no-wait", cwd=home).stdout)
    assert [run["caseId"] for run in started["runs"]] == ["writes-hello", "has-file"]
    with server.client() as sphynx:
        sphynx.evals.batches.wait(started["id"], timeout_ms=60_000)
