"""Mocks on a server of one's own: those of the bundle are served in the trial's sandbox."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from server.whole import whole

pytestmark = pytest.mark.server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_every_kind_of_mock_runs_in_the_trials_sandbox_and_its_calls_reach_the_checks(tmp_path: Path) -> None:
    """The example has an MCP server, a command and an HTTP API; what the API was asked is in the journal."""
    home = tmp_path / "project"
    shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns(".sphynx"))
    (home / "pyproject.toml").touch()
    with whole(tmp_path / "data") as server:
        for name in ("users_interface_eval.py", "catalog_api_eval.py"):
            done = server.cli("eval", name, "--variant", "command/scripted", "--json", cwd=home)
            assert done.returncode == 0, done.stdout + done.stderr + server.log.read_text()
            batch = json.loads(done.stdout)
            trials = [trial for run in batch["runs"] for trial in run["trials"]]
            assert {trial["status"] for trial in trials} == {"passed"}
    called = [one["name"] for one in trials[0]["trajectory"] if one["_tag"] == "toolCall"]
    assert any(name.startswith("catalog GET /") for name in called), called
