"""Every branch of every reader is run by the tests of this folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
READERS = "sphynx.harnesses.transcripts"


@pytest.mark.load
def test_the_readers_have_no_branch_that_no_test_runs(tmp_path: Path) -> None:
    data = f"--data-file={tmp_path / 'coverage'}"
    coverage = [sys.executable, "-m", "coverage"]
    tests = ["-m", "pytest", "-q", "-n", "0", f"--basetemp={tmp_path / 'tests'}", str(HERE)]
    ran = subprocess.run(
        [*coverage, "run", "--branch", f"--source={READERS}", data, *tests],
        cwd=HERE.parents[2], env={**os.environ, "PYTEST_ADDOPTS": ""}, capture_output=True, text=True,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = subprocess.run(
        [*coverage, "report", data, "--show-missing", "--fail-under=100", "--precision=2"],
        cwd=HERE.parents[2], capture_output=True, text=True,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout
    assert all(f"transcripts/{name}.py" in told.stdout for name in ("codex", "claude", "gemini", "fx", "pi"))
