"""What every test may use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from dockerd import Daemon
    from eval_project import Project
    from sphynx.testing.scripted_model import ScriptedModel

# What the program reads from its surroundings and the runner of the tests may have set.
SURROUNDINGS = ("CI", "GITHUB_", "RUNNER_", "SPHYNX_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_")
OURS = ("SPHYNX_NO_SKIP", "SPHYNX_BIN", "SPHYNX_AGENTS_ROOT", "SPHYNX_TEST_")


def pytest_configure() -> None:
    """Tests see the same surroundings on a laptop, in CI and in GitHub Actions."""
    for name in list(os.environ):
        if name.startswith(SURROUNDINGS) and not name.startswith(OURS):
            del os.environ[name]
    # A busy machine is no bug: time is measured by benchmarks.
    hypothesis.settings.register_profile("sphynx", deadline=None)
    hypothesis.settings.load_profile("sphynx")


@pytest.fixture
def anyio_backend() -> str:
    """Sphynx runs on asyncio; anyio's tests run on it too."""
    return "asyncio"


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model that runs."""
    from sphynx.testing.scripted_model import ScriptedModel

    with ScriptedModel() as running:
        yield running


@pytest.fixture(scope="session")
def agents_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where real agents are installed: once per run, or in a folder that is kept, to save time."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    kept = os.environ.get("SPHYNX_AGENTS_ROOT")
    return Path(kept) if kept else tmp_path_factory.mktemp("agents") / "local"


@pytest.fixture
def agents_project(tmp_path: Path, agents_root: Path, model: ScriptedModel) -> Project:
    """A project whose runs use the real agents and the scripted model."""
    from eval_project import Project
    from harnesses.agents.real_agents import project_for

    return project_for(Project(tmp_path), agents_root, model)


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[Daemon]:
    """A Docker daemon of this test run, with the ready image for trials."""
    from dockerd import running

    yield from running()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """With ``SPHYNX_NO_SKIP`` (CI) a skipped test is a failed one: what it misses has to be installed."""
    report: Any = yield
    if os.environ.get("SPHYNX_NO_SKIP") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, which is not allowed here: {reason}"
    return report
