"""What every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

# What the program reads from its surroundings and the runner of the tests may have set.
SURROUNDINGS = ("CI", "GITHUB_", "RUNNER_", "SPHYNX_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_")
OURS = ("SPHYNX_NO_SKIP", "SPHYNX_BIN", "SPHYNX_AGENTS_ROOT", "SPHYNX_TEST_")


def pytest_configure() -> None:
    """Tests see the same surroundings on a laptop, in CI and in GitHub Actions."""
    for name in list(os.environ):
        if name.startswith(SURROUNDINGS) and not name.startswith(OURS):
            del os.environ[name]


@pytest.fixture
def anyio_backend() -> str:
    """Sphynx runs on asyncio; anyio's tests run on it too."""
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[None]:
    """With ``SPHYNX_NO_SKIP`` (CI) a skipped test is a failed one: what it misses has to be installed."""
    report: Any = yield
    if os.environ.get("SPHYNX_NO_SKIP") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, which is not allowed here: {reason}"
    return report
