"""What the local sandbox promises beyond the contract: memory, noise, surroundings, folders."""

from __future__ import annotations

import asyncio
import os
import resource
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandboxes.conftest import ENV
from sphynx.contracts import SandboxSpec
from sphynx.errors import StageError
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def test_large_output_takes_no_memory(backend: LocalBackend) -> None:
    """200 MB of output, read by a slow async consumer, do not grow this process by even 20 MB."""
    box = await backend.open(SandboxSpec("large"))
    seen = 0

    async def count(chunk: bytes) -> None:
        nonlocal seen
        seen += len(chunk)
        await asyncio.sleep(0)

    before = peak_mb()
    done = await box.exec(["head", "-c", "200000000", "/dev/zero"], on_stdout=count, keep=1000)
    assert (done.exit_code, done.stdout_bytes, seen) == (0, 200_000_000, 200_000_000)
    assert peak_mb() - before < 20


async def test_a_slow_consumer_slows_the_command(backend: LocalBackend) -> None:
    """While a callback is awaited nothing is read: the command waits at its pipe, memory is not filled."""
    box = await backend.open(SandboxSpec("slow"))
    gate = asyncio.Event()

    async def wait(chunk: bytes) -> None:
        await gate.wait()

    line = "for i in {1..400}; do head -c 10000 /dev/zero; echo $i > progress; done"
    running = asyncio.create_task(box.exec(["bash", "-c", line], on_stdout=wait))
    await asyncio.sleep(1.0)
    assert int(await box.read("progress")) < 100
    gate.set()
    assert (await running).stdout_bytes == 4_000_000


async def test_a_daemon_that_writes_for_ever_does_not_delay(backend: LocalBackend) -> None:
    """A command whose child goes on writing as fast as it can is over when its own process is."""
    box = await backend.open(SandboxSpec("chatty"))
    began = time.monotonic()
    done = await box.exec(["bash", "-c", "yes & echo started"], timeout_ms=30_000)
    assert done.exit_code == 0
    assert time.monotonic() - began < 5

    async def slowly(chunk: bytes) -> None:
        await asyncio.sleep(0.01)

    done = await box.exec(["bash", "-c", "yes & echo started"], timeout_ms=30_000, on_stdout=slowly)
    assert done.exit_code == 0
    assert time.monotonic() - began < 10


NOISE = """
import asyncio, os, sys
from pathlib import Path
from sphynx.contracts import SandboxSpec
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

async def main():
    backend = LocalBackend(LocalRoot(Path(sys.argv[1])), env=os.environ)
    box = await backend.open(SandboxSpec("t"))
    await asyncio.gather(*(box.exec(["bash", "-c", "setsid sleep 30 & echo x"]) for _ in range(5)))
    task = asyncio.create_task(box.exec(["sleep", "30"]))
    await asyncio.sleep(0.1)
    task.cancel()
    if sys.argv[2] == "tidy":
        await box.close()
        await backend.aclose()

asyncio.run(main(), debug=True)
"""


@pytest.mark.parametrize("end", ["tidy", "careless"])
def test_no_noise(tmp_path: Path, end: str) -> None:
    """Daemons on pipes and cancelled commands leave no traceback at the end of the program, closed or not."""
    command = [sys.executable, "-X", "dev", "-c", NOISE, str(tmp_path / "root"), end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Event loop is closed" not in done.stderr
    assert "Traceback" not in done.stderr


async def test_no_descriptors_are_lost(backend: LocalBackend) -> None:
    """Many trials, commands, time-outs and failures later this process has as many files open as before."""

    async def one(number: int) -> None:
        box = await backend.open(SandboxSpec(f"t{number}"))
        await box.exec(["sleep", "5"], timeout_ms=20)
        await box.exec(["no-such-command"])
        await box.exec(["printf", "x" * 100_000], env={"LARGE": "x" * 100_000})
        with pytest.raises(FileNotFoundError):
            await box.read("nothing")
        await box.write("file", b"x")
        await box.close()

    await asyncio.gather(*(one(number) for number in range(5)))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(4):
        await asyncio.gather(*(one(number) for number in range(5)))
    assert len(os.listdir("/proc/self/fd")) == before


async def test_folders_of_a_trial(backend: LocalBackend, root: LocalRoot) -> None:
    """Workspace, home and tmp lie in a folder of the trial below ``trials``, for this user only."""
    box = await backend.open(SandboxSpec("my trial/№1"))
    (folder,) = root.trials.iterdir()
    assert folder.name.startswith("my-trial-1-")
    assert {Path(path).parent for path in (box.workspace, box.home, box.tmp)} == {folder}
    assert box.host_workspace == box.workspace
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert box.isolation == "none"


async def test_package_caches_are_shared(backend: LocalBackend, root: LocalRoot) -> None:
    """Package managers of every trial keep their downloads in ``packages``."""
    box = await backend.open(SandboxSpec("t"))
    names = ("BUN_INSTALL_CACHE_DIR", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR")
    done = await box.exec(["bash", "-c", "".join(f"echo ${name}; " for name in names)])
    assert done.stdout.decode().split() == [str(root.packages / name) for name in ("bun", "npm", "pip", "uv")]


async def test_signals_start_from_the_default(backend: LocalBackend) -> None:
    """Commands do not inherit ignored signals: a reader that goes away ends its writer."""
    box = await backend.open(SandboxSpec("t"))
    done = await box.exec(["bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}"])
    assert done.stdout == b"y\n141\n"
    ignored = await box.exec(["grep", "SigIgn", "/proc/self/status"])
    assert int(ignored.stdout.split()[1], 16) & 0x7FFF_FFFF == 0


async def test_commands_inherit_no_descriptors(backend: LocalBackend) -> None:
    """A command has descriptors 0, 1 and 2 and nothing else."""
    box = await backend.open(SandboxSpec("t"))
    done = await box.exec(["ls", "/proc/self/fd"])
    assert set(done.stdout.split()) == {b"0", b"1", b"2", b"3"}, "3 is the folder that ls reads"


async def test_requests_are_invisible(backend: LocalBackend) -> None:
    """Neither our processes' command lines nor their environments show what a trial is given."""
    box = await backend.open(SandboxSpec("t", env={"GIVEN": "secret-of-the-spec-818283"}))
    line = "cat /proc/[0-9]*/cmdline /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' | grep -c 8182[8]3"
    done = await box.exec(["bash", "-c", line], env={"MORE": "secret-of-the-call-818283"})
    assert done.stdout == b"0\n"


async def test_opening_many_at_once(backend: LocalBackend, root: LocalRoot) -> None:
    """Thirty trials opened at the same time have thirty machines, and later ones use the same supervisors."""

    async def one(number: int) -> bytes:
        box = await backend.open(SandboxSpec("t"))
        await box.write("number", str(number).encode())
        done = await box.exec(["bash", "-c", 'cat number; echo " $PPID"'])
        await box.close()
        return done.stdout

    said = await asyncio.gather(*(one(number) for number in range(30)))
    assert [int(text.split()[0]) for text in said] == list(range(30))
    again = await one(0)
    assert again.split()[1] in {text.split()[1] for text in said}
    assert list(root.trials.iterdir()) == []


async def test_aclose_closes_what_is_open(root: LocalRoot) -> None:
    """Closing the backend closes its sandboxes; running commands end as killed."""
    backend = LocalBackend(root, env=ENV)
    box = await backend.open(SandboxSpec("t"))
    running = asyncio.create_task(box.exec(["sleep", "60"]))
    await asyncio.sleep(0.2)
    await backend.aclose()
    assert (await running).exit_code == 137
    assert list(root.trials.iterdir()) == []
    with pytest.raises(StageError):
        await box.exec(["true"])


async def test_closing_goes_on_when_cancelled(backend: LocalBackend, root: LocalRoot) -> None:
    """Cancelling whoever waits for close does not leave half a trial."""
    box = await backend.open(SandboxSpec("t"))
    await box.exec(["bash", "-c", "setsid sleep 60 & mkdir a; touch a/b"])
    closing = asyncio.create_task(box.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    await box.close()
    assert list(root.trials.iterdir()) == []


async def test_a_path_of_the_host_without_path(root: LocalRoot) -> None:
    """A host environment without PATH still finds programs."""
    backend = LocalBackend(root, env={})
    box = await backend.open(SandboxSpec("t"))
    assert (await box.exec(["true"])).exit_code == 0
    await backend.aclose()
