"""Mocks on a server of one's own: it serves those of the bundle, the client names them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from server.whole import whole

pytestmark = pytest.mark.server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_both_examples_pass_on_a_server(tmp_path: Path) -> None:
    home = tmp_path / "project"
    shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns(".sphynx"))
    (home / "pyproject.toml").touch()
    with whole(tmp_path / "data") as server:
        for name in ("users_interface", "catalog_api"):
            file = f"{name}_eval.py"
            done = server.cli(
                "eval", file, "--variant", "command/scripted", "--output", "report.json", cwd=home
            )
            assert done.returncode == 0, done.stderr + done.stdout + server.log.read_text()
            (report,) = json.loads((home / "report.json").read_text())
            (run,) = report["batch"]["runs"]
            assert [trial["status"] for trial in run["trials"]] == ["passed"]
