"""The same sandbox on Podman, by way of the interface it shares with Docker."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandboxes.docker.conftest import OPTIONS
from sphynx.sandboxes.conformance import CHECKS, Check, run
from sphynx.sandboxes.docker import DockerBackend, daemon

if TYPE_CHECKING:
    from dockerd import Daemon

pytestmark = [pytest.mark.anyio, pytest.mark.docker]

# What an engine may do in its own way: streams, their ends, signals, and how an exec is left.
TRIED = (
    "exit_codes_arrive", "signals_are_128_and_number", "stdin_is_empty", "time_limit_kills_descendants",
    "cancelling_kills", "daemon_does_not_delay", "background_lives_until_close", "streams_stay_apart",
    "both_streams_large", "large_env", "written_files_are_read", "modes_and_links_go_in", "large_folders",
    "commands_at_the_same_time", "host_environment_stays_out", "closing_twice", "closing_ends_commands",
)  # fmt: skip


@pytest.fixture(scope="module")
def podman(docker_daemon: Daemon) -> Iterator[dict[str, str]]:
    """A Podman service with storage of its own, and the image of the Docker daemon."""
    if shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("podman or runc is missing")
    folder = Path(tempfile.mkdtemp(prefix="sphynx-podman-"))
    storage = f'[storage]\ndriver="overlay"\nrunroot="{folder}/run"\ngraphroot="{folder}/graph"\n'
    (folder / "storage.conf").write_text(storage)
    files = min(20_000, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    (folder / "containers.conf").write_text(
        '[engine]\ncgroup_manager="cgroupfs"\nevents_logger="file"\nruntime="runc"\n[containers]\n'
        f'log_driver="k8s-file"\ndefault_ulimits=["nofile={files}:{files}","nproc=32768:32768"]\n'
    )
    env = {
        **os.environ,
        "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf",
        "CONTAINERS_CONF": f"{folder}/containers.conf",
    }
    host = {"DOCKER_HOST": f"unix://{folder}/podman.sock", "PATH": os.environ["PATH"]}
    process = subprocess.Popen(
        ["podman", "system", "service", "--time=0", host["DOCKER_HOST"]],
        env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + 30
        while daemon._ask(host["DOCKER_HOST"]):
            assert time.monotonic() < end and process.poll() is None, "podman did not start"
            time.sleep(0.2)
        saved = docker_daemon.docker("save", "sphynx-agent").stdout
        subprocess.run(["podman", "load", "-q"], input=saved, env=env, check=True, capture_output=True)
        yield host
        left = subprocess.run(["podman", "ps", "-aq"], env=env, check=True, capture_output=True)
        assert left.stdout == b""
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        subprocess.run(["podman", "rm", "-af"], env=env, check=False, capture_output=True)
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in sorted((one for one in mounts if one.startswith(f"{folder}/")), reverse=True):
            subprocess.run(["umount", "-l", mount], check=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def on_podman(podman: dict[str, str], tmp_path: Path) -> AsyncIterator[DockerBackend]:
    options = replace(OPTIONS, image="localhost/sphynx-agent")
    backend = DockerBackend(options, env=podman, folder=tmp_path / "egress")
    yield backend
    await backend.aclose()


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check.name in TRIED], ids=lambda check: check.name
)
async def test_conformance(check: Check, on_podman: DockerBackend) -> None:
    await run(check, on_podman)
