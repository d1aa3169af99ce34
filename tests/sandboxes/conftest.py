"""Backends to try the sandboxes with. Each test has a local root of its own."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sphynx.sandboxes import bubblewrap
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SECRET_OF_THE_HOST": "never seen inside"}


@pytest.fixture
def root(tmp_path: Path) -> LocalRoot:
    return LocalRoot(tmp_path / "root")


@pytest.fixture
async def backend(root: LocalRoot) -> AsyncIterator[LocalBackend]:
    backend = LocalBackend(root, env=ENV)
    yield backend
    await backend.aclose()


@pytest.fixture
def isolating() -> None:
    """Skip where this machine cannot isolate."""
    works, why = bubblewrap.available()
    if not works:
        pytest.skip(why)
