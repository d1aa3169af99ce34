"""What every test may use."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Sphynx runs on asyncio; anyio's tests run on it too."""
    return "asyncio"
