"""The images of this repository are built and used; the compose file is one."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

from dockerd import REPOSITORY, Daemon
from sandboxes.docker.conftest import OPTIONS
from sphynx.contracts import SandboxSpec
from sphynx.sandboxes.docker import DockerBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.docker


@pytest.mark.anyio
async def test_the_image_for_trials(backend: DockerBackend) -> None:
    """It has Python, node with npm, git and bash, and a user of its own who can install packages."""
    box = await backend.open(SandboxSpec("image"), options=OPTIONS)
    line = (
        "python3 -m venv env && env/bin/python -c 'import ssl, sqlite3, ctypes; print(\"python\")'; "
        "node -e 'console.log(`node ${+process.versions.node.split(`.`)[0] >= 20}`)'; npm --version; "
        "git init -q repo && git -C repo status -sb; bash --version | head -n 1; rg --version | head -n 1"
    )
    done = await box.exec(["bash", "-c", line], timeout_ms=60_000)
    lines = done.stdout.decode().splitlines()
    assert lines[:2] == ["python", "node true"], done.stderr
    assert lines[2].startswith("10.")
    assert lines[3].startswith("## No commits yet")
    assert "GNU bash" in done.stdout.decode()
    assert "ripgrep" in done.stdout.decode()
    await box.close()


def test_the_servers_image(docker_daemon: Daemon) -> None:
    """It is built from this checkout, runs as a user of its own, answers, and stops in order."""
    docker_daemon.build("server.Dockerfile", "sphynx-server", ".")
    config = json.loads(docker_daemon.docker("inspect", "sphynx-server").stdout)[0]["Config"]
    assert config["User"] == "sphynx"
    assert not any("PASSWORD" in line or "KEY" in line for line in config["Env"])
    run = ("run", "-d", "--network", "none", "--name", "server", "sphynx-server")
    docker_daemon.docker(*run)
    try:
        ask = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:3003/healthz').status)"
        end = time.monotonic() + 40
        done = docker_daemon.docker("exec", "server", "python3", "-c", ask, check=False)
        while done.returncode and time.monotonic() < end:
            time.sleep(0.5)
            done = docker_daemon.docker("exec", "server", "python3", "-c", ask, check=False)
        log = docker_daemon.docker("logs", "server")
        said = (log.stdout + log.stderr).decode()
        assert done.stdout.strip() == b"200", said
        assert "export SPHYNX_API_KEY=anp_" in said
        docker_daemon.docker("stop", "-t", "20", "server")
        state = json.loads(docker_daemon.docker("inspect", "server").stdout)[0]["State"]
        assert state["ExitCode"] == 0
    finally:
        docker_daemon.docker("rm", "-fv", "server", check=False)


def compose(**environ: str) -> subprocess.CompletedProcess[str]:
    assert shutil.which("docker-compose"), "docker-compose is missing"
    return subprocess.run(
        ["docker-compose", "-f", str(REPOSITORY / "compose.yaml"), "config"],
        capture_output=True, text=True, check=False, cwd="/",
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environ},
    )  # fmt: skip


def test_the_compose_file() -> None:
    """A server, two workers and Postgres; it cannot be started without a password and a master key."""
    import yaml

    bare = compose()
    assert bare.returncode != 0
    assert "POSTGRES_PASSWORD" in bare.stderr + bare.stdout
    done = compose(POSTGRES_PASSWORD="test", SPHYNX_MASTER_KEY="AAAA")
    assert done.returncode == 0, done.stderr
    services: Mapping[str, Any] = yaml.safe_load(done.stdout)["services"]
    assert sorted(services) == ["postgres", "server", "worker-1", "worker-2"]
    for name in ("worker-1", "worker-2"):
        assert any("docker.sock" in str(volume) for volume in services[name]["volumes"])
    assert not any("docker.sock" in str(volume) for volume in services["server"].get("volumes", []))
    assert services["server"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    (port,) = services["server"]["ports"]
    assert "127.0.0.1:3003:3003" in port or port["host_ip"] == "127.0.0.1"
