"""Fixtures of the tests that run real agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project


@pytest.fixture
def root(agents_root: Path) -> Path:
    return agents_root


@pytest.fixture
def project(agents_project: Project) -> Project:
    return agents_project
