"""What containers are made with, who finds them again, and what becomes of those nobody needs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dockerd import import_busybox
from sandboxes.docker.conftest import OPTIONS
from sphynx.contracts import SandboxSpec
from sphynx.errors import StageError
from sphynx.sandboxes.docker import DockerBackend
from sphynx.sandboxes.docker.backend import OWNER, TRIAL, Found

if TYPE_CHECKING:
    from dockerd import Daemon

pytestmark = [pytest.mark.anyio, pytest.mark.docker]
SPEC = SandboxSpec(trial_id="trial-7", env={"OF_SPEC": "yes"})
BEAT = "while :; do date +%s%N > beat; sleep 0.05; done"


async def beats(read: Callable[[], Awaitable[bytes]]) -> bool:
    """Whether the file is still written."""
    first = await read()
    await asyncio.sleep(0.6)
    return await read() != first


async def test_processes_are_limited(backend: DockerBackend) -> None:
    """An agent that forks without end is stopped at the limit, and the sandbox goes on."""
    box = await backend.open(SPEC, options=replace(OPTIONS, pids=30))
    line = "for i in $(seq 100); do sleep 20 & done; echo started"
    done = await box.exec(["bash", "-c", line], timeout_ms=8_000)
    assert b"fork" in done.stderr
    assert (await box.exec(["echo", "on"])).stdout == b"on\n"
    await box.close()


async def test_memory_is_limited(backend: DockerBackend) -> None:
    """A process that wants more than the container may have is killed; the sandbox goes on."""
    box = await backend.open(SPEC, options=replace(OPTIONS, memory=96 * 2**20))
    done = await box.exec(["python3", "-c", "x = bytearray(400_000_000)"])
    assert done.exit_code == 137
    assert (await box.exec(["echo", "on"])).stdout == b"on\n"
    await box.close()


async def test_the_agent_is_not_root(backend: DockerBackend) -> None:
    """Commands run as the image's user, who can change neither the system nor what checks are run with."""
    box = await backend.open(SPEC)
    who = await box.exec(["id", "-un"])
    assert who.stdout == b"agent\n"
    line = "touch /usr/bin/x; touch /trial/lib/x; touch /trial/x; ls /trial/bundles; kill -9 1; id -u"
    done = await box.exec(["bash", "-c", line])
    assert done.stdout == b"1000\n"
    assert done.stderr.count(b"ermission denied") == 4
    assert b"not permitted" in done.stderr
    await box.close()


async def test_nothing_of_a_call_is_in_arguments(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """Variables of the spec and of the call are in no argument inside and not in what the engine knows."""
    box = await backend.open(replace(SPEC, env={"SECRET": "hidden-in-spec"}))
    waiting = asyncio.create_task(box.exec(["sleep", "3"], env={"OTHER": "hidden-in-call"}))
    await asyncio.sleep(1)
    shown = await box.exec(["bash", "-c", "cat /proc/[0-9]*/cmdline; cat /proc/1/environ"])
    known = docker_daemon.docker("inspect", box.id).stdout
    for text in (b"hidden-in-spec", b"hidden-in-call"):
        assert text not in shown.stdout
        assert text not in known
    await waiting
    await box.close()


async def test_an_agent_that_kills_what_watches_it(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """In an image whose user is root an agent can end its own watcher: its command was killed, no more."""
    docker_daemon.docker("build", "-t", "rooted", "-", stdin=b"FROM sphynx-agent\nUSER root\n")
    box = await backend.open(SPEC, options=replace(OPTIONS, image="rooted"))
    assert (await box.exec(["id", "-un"])).stdout == b"root\n"
    done = await box.exec(["bash", "-c", "kill -9 $PPID; sleep 20"], timeout_ms=60_000)
    assert (done.exit_code, done.timed_out) == (137, False)
    assert (await box.exec(["echo", "on"])).stdout == b"on\n"
    await box.close()


async def test_a_container_that_ends(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """When the container is gone under a trial, the reason is the sandbox, not the agent."""
    box = await backend.open(SPEC)
    running = asyncio.create_task(box.exec(["sleep", "60"]))
    await asyncio.sleep(0.8)
    docker_daemon.docker("rm", "-f", box.id)
    with pytest.raises(StageError, match="The container is gone"):
        await asyncio.wait_for(running, 20)
    await box.close()
    await box.close()


async def test_containers_end_by_themselves(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """A container that everybody has forgotten ends when its time is over."""
    box = await backend.open(SPEC, options=replace(OPTIONS, lifetime_s=3))
    for _ in range(60):
        if b"exited" in docker_daemon.docker("ps", "-a", "--format", "{{.State}}").stdout:
            break
        await asyncio.sleep(0.2)
    with pytest.raises(StageError, match="ended with exit code 0"):
        await box.exec(["true"])
    await box.close()


async def test_attaching_from_another_backend(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """Another process finds the sandbox by its id: its files, its daemons; nobody of another owner does."""
    box = await backend.open(SPEC)
    await box.write("kept.txt", b"still here")
    await box.exec(["bash", "-c", f"({BEAT}) >/dev/null 2>&1 &"])
    other = DockerBackend(OPTIONS, env=docker_daemon.env)
    again = await other.attach(box.id, SPEC)
    assert again is not None
    assert await again.read("kept.txt") == b"still here"
    assert (await again.exec(["bash", "-c", "echo $OF_SPEC; id -un"])).stdout == b"yes\nagent\n"
    assert await beats(lambda: again.read("beat"))
    stranger = DockerBackend(OPTIONS, env=docker_daemon.env, labels={OWNER: "somebody-else"})
    assert await stranger.attach(box.id, SPEC) is None
    await stranger.aclose()
    await again.close()
    assert await other.attach(box.id, SPEC) is None
    await other.aclose()


PROGRAM = """
import asyncio, os, sys
from sphynx.contracts import SandboxSpec
from sphynx.sandboxes.docker import DockerBackend
from sphynx.sandboxes.docker.options import ContainerOptions, Network

async def main():
    backend = DockerBackend(ContainerOptions(network=Network("none"), memory=None), env=os.environ)
    box = await backend.open(SandboxSpec("left"))
    print(box.id, flush=True)
    await box.exec(["bash", "-c", sys.argv[1]])

asyncio.run(main())
"""


async def test_a_killed_host(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """With the host killed its command ends, the sandbox can be attached to, and a sweep removes it."""
    host = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, BEAT], env={**os.environ, **docker_daemon.env}, stdout=subprocess.PIPE
    )
    assert host.stdout is not None
    container = host.stdout.readline().decode().strip()
    await asyncio.sleep(2)
    host.send_signal(signal.SIGKILL)
    host.wait()
    host.stdout.close()
    box = await backend.attach(container, SPEC)
    assert box is not None
    end = time.monotonic() + 10
    while await beats(lambda: box.read("beat")):
        assert time.monotonic() < end, "its command lives on"
    asked: list[Found] = []

    async def all_but(found: list[Found]) -> set[str]:
        asked.extend(found)
        return {one.id for one in found}

    other = DockerBackend(OPTIONS, env=docker_daemon.env)
    mine = await backend.open(SPEC)
    assert await backend.sweep(all_but) == 0, "what is open here stays"
    assert await other.sweep(all_but) == 2
    assert {one.labels[TRIAL] for one in asked} == {"left", "trial-7"}
    await other.aclose()
    await mine.close()


async def test_images_that_will_not_do(backend: DockerBackend, docker_daemon: Daemon) -> None:
    """An image that is not there, or lacks Python or bash, is named with what it lacks; nothing is left."""
    import_busybox(docker_daemon, "tiny")
    remove = b"FROM sphynx-agent\nUSER root\nRUN rm /bin/bash\nUSER agent\n"
    docker_daemon.docker("build", "-t", "no-bash", "-", stdin=remove)
    docker_daemon.docker("build", "-t", "no-user", "-", stdin=b"FROM sphynx-agent\nUSER nobody-knows\n")
    fake = b"RUN printf '#!/bin/sh\\necho python 3.9 >&2; sleep 5' > /usr/bin/python3\n"
    old = b"FROM sphynx-agent\nUSER root\n" + fake
    docker_daemon.docker("build", "-t", "old-python", "-", stdin=old)
    wanted = {
        "tiny": "The image tiny has no python3",
        "no-bash": "The image no-bash has no bash",
        "no-user": "the image names the user nobody-knows, who is not in it",
        "old-python": "has no Python 3.11 or newer, it has 3.9",
        "127.0.0.1:9/nothing:1": "could not be pulled",
    }
    for image, reason in wanted.items():
        with pytest.raises(StageError, match=reason) as caught:
            await backend.open(SPEC, options=replace(OPTIONS, image=image))
        assert (caught.value.stage, caught.value.cause) == ("sandbox", "sandbox")
        assert docker_daemon.containers() == []


async def test_no_daemon(tmp_path: Path) -> None:
    """Without a daemon the trial is void with an address to look at."""
    backend = DockerBackend(OPTIONS, env={"DOCKER_HOST": f"unix://{tmp_path}/none.sock"})
    with pytest.raises(StageError, match="cannot be reached"):
        await backend.open(SPEC)
    await backend.aclose()
