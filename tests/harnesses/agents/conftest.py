"""Fixtures of the tests that run real agents."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval_project import Project
from harnesses.agents.real_agents import agents_root, project_for
from sphynx.testing.scripted_model import ScriptedModel


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    return agents_root(tmp_path_factory.mktemp("agents"))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture
def project(tmp_path: Path, root: Path, model: ScriptedModel) -> Project:
    return project_for(Project(tmp_path), root, model)
