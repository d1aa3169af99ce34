"""Mocks on a server of one's own: it serves those of the bundle, the client names them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from server.whole import whole

pytestmark = pytest.mark.server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_a_server_refuses_mocks_before_anything_starts_and_says_where_they_run(tmp_path: Path) -> None:
    home = tmp_path / "project"
    shutil.copytree(EXAMPLES, home, ignore=shutil.ignore_patterns(".sphynx"))
    (home / "pyproject.toml").touch()
    with whole(tmp_path / "data") as server:
        done = server.cli("eval", "users_interface_eval.py", "--variant", "command/scripted", cwd=home)
        assert done.returncode == 1
        assert "this server does not know mocks: run it with --local" in done.stderr
