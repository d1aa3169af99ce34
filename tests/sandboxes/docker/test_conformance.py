"""The docker sandbox keeps every promise of the contract."""

from __future__ import annotations

import pytest

from sphynx.sandboxes.conformance import CHECKS, Check, run
from sphynx.sandboxes.docker import DockerBackend

pytestmark = [pytest.mark.anyio, pytest.mark.docker]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_conformance(check: Check, backend: DockerBackend) -> None:
    await run(check, backend)
