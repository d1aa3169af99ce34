"""A backend on the daemon of the test run; every test must leave no container."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sphynx.sandboxes.docker import DockerBackend
from sphynx.sandboxes.docker.options import ContainerOptions, Network

if TYPE_CHECKING:
    from dockerd import Daemon

OPTIONS = ContainerOptions(memory=512 * 2**20, cpus=None, pids=200, network=Network("none"), lifetime_s=900)


@pytest.fixture
async def backend(docker_daemon: Daemon, tmp_path: Path) -> AsyncIterator[DockerBackend]:
    backend = DockerBackend(OPTIONS, env=docker_daemon.env, folder=tmp_path / "egress")
    yield backend
    await backend.aclose()
    assert docker_daemon.containers() == []
