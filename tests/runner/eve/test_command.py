"""The ``sphynx-eve`` program: exit codes, the lines it prints, and that it cleans up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from eve_stand_in import COMPLETED, install

PROGRAM = [sys.executable, "-c", "from sphynx.runner.eve.command import run; run()"]


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "SPHYNX_PROMPT": "p",
        "SPHYNX_MODEL": "m",
        "SPHYNX_WORKSPACE": str(folder),
        "SPHYNX_HOME": str(folder),
        "SPHYNX_TRACE_LOG": str(folder / "trace"),
        **more,
    }


def play(folder: Path, *arguments: str, **more: str) -> tuple[int, list[dict[str, Any]], str]:
    done = subprocess.run(
        [*PROGRAM, *arguments],
        env=environment(folder, **more),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


FAILED = [{"type": "turn.failed", "data": {"message": "model refused"}}]
PARKED = [{"type": "authorization.required", "data": {"name": "drive"}}]


@pytest.mark.parametrize(
    ("events", "code", "reason"),
    [
        (COMPLETED, 0, "completed"),
        (FAILED, 1, "failed: model refused"),
        (PARKED, 3, "parked: authorization required for drive"),
    ],
)
def test_exit_codes(tmp_path: Path, events: list[Any], code: int, reason: str) -> None:
    """0 completed, 1 failed, 3 parked, with the reason on the last line."""
    exit_code, lines, _ = play(install(tmp_path, events=events))
    assert (exit_code, lines[0]["_tag"], lines[-1]["reason"]) == (code, "Started", reason)


def test_a_folder_below_the_workspace(tmp_path: Path) -> None:
    """An agent in a subdirectory is named by its path."""
    install(tmp_path / "apps" / "agent")
    assert play(tmp_path, "apps/agent")[0] == 0
    code, lines, stderr = play(tmp_path)
    assert (code, lines[-1]["reason"]) == (1, f"failed: eve is not installed in {tmp_path}")
    assert stderr.startswith(f"error: eve is not installed in {tmp_path}\n  hint: ")


def test_a_later_turn_continues_the_session(tmp_path: Path) -> None:
    """With a session id the server resumes and the message goes to that session."""
    code, lines, _ = play(install(tmp_path, before=COMPLETED, session="wrun_7"), SPHYNX_SESSION_ID="wrun_7")
    assert (code, [line["_tag"] for line in lines]) == (0, ["Started", "Message", "Finished"])
    assert "--resume" in json.loads((tmp_path / "argv.json").read_text())


def test_run_by_hand(tmp_path: Path) -> None:
    """Without the harness's variables it names the first missing one."""
    code, lines, stderr = play(tmp_path, SPHYNX_PROMPT="")
    assert (code, lines[-1]["reason"]) == (1, "failed: SPHYNX_PROMPT is not set")
    assert "error: SPHYNX_PROMPT is not set" in stderr


def test_usage(tmp_path: Path) -> None:
    """``--help`` explains; what is not understood is an error."""
    helped = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True)
    assert (helped.returncode, helped.stdout.splitlines()[0]) == (0, "usage: sphynx-eve [FOLDER]")
    for wrong in (["a", "b"], ["--port"]):
        done = subprocess.run([*PROGRAM, *wrong], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr[:6]) == (1, "", "usage:")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_eve_too(tmp_path: Path, ending: signal.Signals) -> None:
    """A stopped trial leaves no server, and the journal says why it ended."""
    install(tmp_path, events=[])
    process = subprocess.Popen(PROGRAM, env=environment(tmp_path), cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["_tag"] == "Started"
    process.send_signal(ending)
    rest, _ = process.communicate(timeout=20)
    assert (process.returncode, json.loads(rest)["reason"]) == (1, "failed: stopped by a signal")
    port = json.loads((tmp_path / "argv.json").read_text())[5]
    time.sleep(0.1)
    listening = Path("/proc/net/tcp").read_text() if sys.platform == "linux" else ""
    assert f":{int(port):04X} 00000000:0000 0A" not in listening
