"""A project with a command line in it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "render"))

from command_line import CommandLine


@pytest.fixture
def project(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)
