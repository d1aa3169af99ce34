"""Whatever ends a trial, nothing it started survives (Linux)."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandboxes.conftest import ENV
from sandboxes.processes import NASTY, marked, wait_until_gone, zombies_of
from sphynx.contracts import SandboxSpec
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio
isolated = pytest.param(True, marks=pytest.mark.isolate)


def new_mark() -> str:
    """Digits, so that ``sleep 301.<mark>`` is a number."""
    return str(secrets.randbelow(10**12) + 10**12)


async def nasty(backend: LocalBackend, mark: str, isolate: bool, *, seconds: float = 0.3) -> None:
    """One trial that starts everything in ``nasty_trial.sh`` and is then closed."""
    box = await backend.open(SandboxSpec("nasty", isolate=isolate, env={"PYTHON": sys.executable}))
    await box.write("nasty.sh", NASTY.read_bytes())
    done = await box.exec(["bash", "nasty.sh", mark], timeout_ms=60_000)
    assert (done.exit_code, done.stdout) == (0, b"done\n"), done
    await asyncio.sleep(seconds)
    assert len(marked(mark)) >= 4
    await box.close()


@pytest.mark.parametrize("isolate", [False, isolated])
async def test_close_kills_everything(backend: LocalBackend, isolate: bool) -> None:
    """Double forks, sessions, empty environments, deaf processes, makers of orphans: gone after close."""
    mark = new_mark()
    await nasty(backend, mark, isolate)
    assert marked(mark) == []


@pytest.mark.parametrize("isolate", [False, isolated])
async def test_folder_is_gone_after_close(backend: LocalBackend, root: LocalRoot, isolate: bool) -> None:
    """Read-only folders, many files and odd names do not keep a trial's folder alive."""
    box = await backend.open(SandboxSpec("files", isolate=isolate))
    await box.exec(
        ["bash", "-c", "mkdir -p a/b; touch a/b/c; ln -s /etc link; mkfifo pipe; chmod 0 a/b; chmod 500 a"]
    )
    await box.exec(["bash", "-c", "mkdir many; cd many; touch {1..600}; chmod 500 ."])
    await box.close()
    assert list(root.trials.iterdir()) == []
    assert Path("/etc/passwd").exists()


async def test_a_trial_leaves_its_neighbour_alone(backend: LocalBackend) -> None:
    """Closing one trial does not touch the processes of another."""
    ours, theirs = new_mark(), new_mark()
    other = await backend.open(SandboxSpec("neighbour"))
    running = asyncio.create_task(other.exec(["bash", "-c", f"setsid sleep 2.{theirs} & wait; echo fine"]))
    await nasty(backend, ours, False)
    assert marked(ours) == []
    assert len(marked(theirs)) >= 1
    assert (await running).stdout == b"fine\n"


async def test_exit_codes_beside_a_killing(backend: LocalBackend) -> None:
    """Trials that are being killed do not take exit codes from processes of this program."""

    async def own(code: int) -> bool:
        process = await asyncio.create_subprocess_exec("bash", "-c", f"sleep 0.2; exit {code}")
        return await process.wait() == code

    results = await asyncio.gather(*(own(code) for code in range(20)), nasty(backend, new_mark(), False))
    assert all(result is not False for result in results)


async def test_no_zombies(backend: LocalBackend) -> None:
    """A trial whose orphans end by themselves leaves no zombie, neither here nor at its supervisor."""
    box = await backend.open(SandboxSpec("orphans"))
    asked = await box.exec(["bash", "-c", "echo $PPID; for i in {1..50}; do (setsid true &); done"])
    await asyncio.sleep(0.3)
    assert zombies_of(int(asked.stdout)) == 0
    await box.close()
    assert zombies_of(os.getpid()) == 0


async def test_a_killed_supervisor_is_told(backend: LocalBackend) -> None:
    """An agent that kills the process above it loses its trial, and what it left is killed all the same."""
    mark = new_mark()
    box = await backend.open(SandboxSpec("patricide"))
    with pytest.raises(Exception, match="was killed"):
        await box.exec(["bash", "-c", f"(setsid sleep 300.{mark} &); kill -9 $PPID; sleep 300.{mark}"])
    assert wait_until_gone(mark) == []
    await box.close()
    after = await backend.open(SandboxSpec("after"))
    assert (await after.exec(["true"])).exit_code == 0


async def test_a_fork_bomb_ends(backend: LocalBackend) -> None:
    """A trial that forks as fast as it can is ended like any other."""
    mark = new_mark()
    box = await backend.open(SandboxSpec("bomb"))
    forker = f"while :; do (sleep 5.{mark} &) ; sleep 0.01; done"
    line = f"for i in {{1..8}}; do setsid bash -c '{forker}' & done; wait"
    done = await box.exec(["bash", "-c", line], timeout_ms=1000)
    assert done.timed_out
    await box.close()
    assert marked(mark) == []


HOST = """
import asyncio, os, sys
from pathlib import Path
from sphynx.contracts import SandboxSpec
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

async def one(backend, isolate, script, mark):
    box = await backend.open(SandboxSpec("t", isolate=isolate, env={"PYTHON": sys.executable}))
    await box.write("nasty.sh", Path(script).read_bytes())
    await box.exec(["bash", "nasty.sh", mark])
    print("ready", flush=True)
    await box.exec(["sleep", "300." + mark])

async def main(root, isolate, count, script, mark):
    backend = LocalBackend(LocalRoot(Path(root)), env=os.environ)
    await asyncio.gather(*(one(backend, isolate == "1", script, mark) for _ in range(int(count))))

asyncio.run(main(*sys.argv[1:]))
"""


def host_killed(root: Path, isolate: bool, count: int, number: int) -> list[str]:
    """Run ``count`` nasty trials in a process, end it with signal ``number``; what survives of them."""
    mark = new_mark()
    command = [sys.executable, "-c", HOST, str(root), "01"[isolate], str(count), str(NASTY), mark]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **ENV})
    assert host.stdout is not None
    for _ in range(count):
        assert host.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    assert len(marked(mark)) >= 4 * count
    host.send_signal(number)
    host.wait()
    host.stdout.close()
    return wait_until_gone(mark, 10)


@pytest.mark.parametrize("isolate", [False, isolated])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_survives_the_host(tmp_path: Path, isolate: bool, number: int) -> None:
    """When this program is killed in the middle, every process of its trials dies with it."""
    assert host_killed(tmp_path / "root", isolate, 3, number) == []


def test_the_next_run_clears_up(tmp_path: Path) -> None:
    """Folders a killed run left on disk are removed by the next one, those in use are not."""
    root = LocalRoot(tmp_path / "root")
    assert host_killed(root.path, False, 2, signal.SIGKILL) == []
    assert len(list(root.trials.iterdir())) == 2
    mine = root.new_trial("in-use")
    assert root.clear_dead_trials() == 2
    assert list(root.trials.iterdir()) == [mine]


@pytest.mark.chaos
@pytest.mark.parametrize("isolate", [False, isolated])
async def test_fifty_at_once(backend: LocalBackend, isolate: bool) -> None:
    """Fifty nasty trials at the same time: no survivor, no zombie."""
    marks = [new_mark() for _ in range(50)]
    await asyncio.gather(*(nasty(backend, mark, isolate) for mark in marks))
    assert [line for mark in marks for line in marked(mark)] == []
    assert zombies_of(os.getpid()) == 0


@pytest.mark.chaos
@pytest.mark.parametrize("isolate", [False, isolated])
def test_fifty_when_the_host_dies(tmp_path: Path, isolate: bool) -> None:
    """Fifty nasty trials at the same time, the host killed by SIGKILL: no survivor."""
    assert host_killed(tmp_path / "root", isolate, 50, signal.SIGKILL) == []
