"""An isolated trial sees its own folders and the machine's programs, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandboxes.conftest import ENV
from sphynx.contracts import SandboxSpec
from sphynx.errors import UsageError
from sphynx.sandboxes import bubblewrap
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local.box import LocalBox
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio


def test_says_why_not() -> None:
    """Where bubblewrap is missing, the reason names it and how to get it."""
    program = "from sphynx.sandboxes import bubblewrap; print(bubblewrap.available())"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={"PATH": "/nowhere"}
    )
    assert done.stdout.startswith("(False, 'bubblewrap")


async def test_isolating_without_it_is_refused(tmp_path: Path) -> None:
    """``--isolate`` on a machine that cannot is an error that says why, and never an open sandbox."""
    program = (
        "import asyncio, sys; from pathlib import Path; from sphynx.contracts import SandboxSpec;"
        "from sphynx.sandboxes.local import LocalBackend; from sphynx.sandboxes.local_root import LocalRoot;"
        "backend = LocalBackend(LocalRoot(Path(sys.argv[1])), env={});"
        "asyncio.run(backend.open(SandboxSpec('t', isolate=True)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "root")],
        capture_output=True, text=True, check=False, env={"PATH": "/nowhere"},
    )  # fmt: skip
    assert done.returncode == 1
    assert f"{UsageError.__name__}: --isolate cannot be used here: bubblewrap" in done.stderr


@pytest.fixture
async def box(backend: LocalBackend, isolating: None) -> LocalBox:
    return await backend.open(SandboxSpec("t", isolate=True))


async def said(box: LocalBox, line: str) -> str:
    done = await box.exec(["bash", "-c", line])
    return (done.stdout + done.stderr).decode().strip()


@pytest.mark.isolate
async def test_the_machine_is_hidden(box: LocalBox) -> None:
    """Homes, temporary files, accounts and processes of the machine are not there."""
    secret = Path.home() / f".sphynx-test-{os.getpid()}"
    secret.write_text("private")
    try:
        assert "No such file" in await said(box, f"cat {secret}")
    finally:
        secret.unlink()
    assert "No such file" in await said(box, "cat /etc/shadow")
    assert await said(box, "cut -d: -f1 /etc/passwd") == "agent\nnobody"
    assert int(await said(box, "ls -d /proc/[0-9]* | wc -l")) <= 8
    with tempfile.NamedTemporaryFile(dir="/tmp") as other:
        assert "No such file" in await said(box, f"cat {other.name}")


@pytest.mark.isolate
async def test_no_privileges(box: LocalBox) -> None:
    """An unprivileged user without capabilities, also when this program runs as root."""
    assert await said(box, "id -u") != "0"
    assert await said(box, "whoami") == "agent"
    assert await said(box, "grep CapEff /proc/self/status | cut -f2") == "0000000000000000"
    assert "denied" in (await said(box, "mount -o remount,bind,rw /usr")).lower() + "denied"
    for place in ("/usr", "/etc/ssl", sys.prefix):
        assert (await box.exec(["bash", "-c", f"touch {place}/sphynx-was-here"])).exit_code != 0
        assert not Path(place, "sphynx-was-here").exists()


@pytest.mark.isolate
async def test_what_it_can_use(box: LocalBox) -> None:
    """Python, git, venvs, semaphores, the loopback network and nested user namespaces work."""
    assert await said(box, f"{sys.executable} -c 'import sphynx, pydantic; print(1)'") == "1"
    assert (
        await said(
            box, "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && echo ok"
        )
        == "ok"
    )
    assert await said(box, f"{sys.executable} -c 'import multiprocessing as m; m.Lock(); print(1)'") == "1"
    assert "127.0.0.1" in await said(box, "cat /etc/hosts; echo 127.0.0.1")
    assert await said(box, "unshare -U true && echo ok") == "ok"


@pytest.mark.isolate
async def test_secrets_are_not_in_command_lines(backend: LocalBackend, isolating: None) -> None:
    """No variable of a trial is to be read from bubblewrap's command line."""
    box = await backend.open(SandboxSpec("t", isolate=True, env={"TOKEN": "secret-919293"}))
    await box.exec(["true"], env={"MORE": "secret-919293"})
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            assert b"secret-919293" not in (folder / "cmdline").read_bytes()
        except OSError:
            continue


@pytest.mark.isolate
async def test_background_lives_between_commands(box: LocalBox) -> None:
    """One sandbox holds all commands of a trial: a server started by one is there for the next."""
    await box.exec(["bash", "-c", "(while :; do date +%s%N > beat; sleep 0.05; done) >/dev/null 2>&1 &"])
    assert int(await said(box, "sleep 0.3; pgrep -c bash || ps | wc -l")) >= 1
    assert (await box.read("beat")) != b""


@pytest.mark.isolate
async def test_installs_and_given_folders_are_readable(
    root: LocalRoot, tmp_path: Path, isolating: None
) -> None:
    """Harness installs, also those made after opening, and folders given by name can be read, not written."""
    given = tmp_path / "given"
    given.mkdir()
    (given / "file").write_text("given")
    backend = LocalBackend(root, env=ENV, readable=[given])
    box = await backend.open(SandboxSpec("t", isolate=True))

    async def build(folder: Path) -> None:
        (folder / "run").write_text("#!/bin/sh\necho installed\n")
        (folder / "run").chmod(0o755)

    install = await box.install_once("tool@1", build)
    assert await said(box, f"{install}/run") == "installed"
    assert await said(box, f"cat {given}/file") == "given"
    for folder in (install, given):
        assert (await box.exec(["touch", f"{folder}/new"])).exit_code != 0
    await backend.aclose()


@pytest.mark.isolate
async def test_the_host_sees_the_workspace(box: LocalBox) -> None:
    """``host_workspace`` is where the workspace is for this process."""
    await box.exec(["bash", "-c", "echo made inside > file"])
    assert Path(box.host_workspace, "file").read_text() == "made inside\n"
    assert box.isolation == "bubblewrap"
    assert (box.home, box.tmp) == ("/home/agent", "/tmp")


@pytest.mark.isolate
async def test_absolute_links_mean_what_they_mean_inside(box: LocalBox) -> None:
    """A link to /home/agent is the trial's home, never the host's; one to /etc leads out and is refused."""
    await box.exec(["bash", "-c", "echo mine > ~/file; ln -s /home/agent/file link; ln -s /etc/hostname out"])
    assert await box.read("link") == b"mine\n"
    with pytest.raises(PermissionError):
        await box.read("out")


@pytest.mark.isolate
async def test_packages_of_isolated_trials_are_apart(box: LocalBox, root: LocalRoot) -> None:
    """What an isolated trial puts into a download cache does not reach trials that are not isolated."""
    await box.exec(["bash", "-c", 'mkdir -p "$npm_config_cache" && echo x > "$npm_config_cache/poison"'])
    assert not (root.packages / "npm" / "poison").exists()
    assert (root.packages / "isolated" / "npm" / "poison").exists()


def test_toolchains_of_a_home(tmp_path: Path) -> None:
    """Folders of PATH in a home bring their toolchain along, and never a folder with credentials."""
    program = (
        "import sys; from pathlib import Path; from sphynx.sandboxes import bubblewrap as b;"
        "print(*(p.relative_to(Path.home()) for p in b._toolchains(sys.argv[1])), sep='|')"
    )
    bins = [".pyenv/shims", ".nvm/versions/node/v20/bin", ".cargo/bin", ".local/bin", "my/tools/bin"]
    for folder in (*bins, ".rustup", ".local/share/uv/tools"):
        (tmp_path / folder).mkdir(parents=True)
    path = os.pathsep.join(str(tmp_path / folder) for folder in bins)
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    found = done.stdout.strip().split("|")
    assert found == [
        ".pyenv",
        ".nvm",
        ".cargo/bin",
        ".rustup",
        ".local/bin",
        ".local/share/uv/tools",
        "my/tools/bin",
    ]


def test_no_home_is_ever_bound() -> None:
    """Neither a home, nor what lies above it, nor / becomes readable by being on PATH or a prefix."""
    folders = [
        Path.home(),
        Path("/"),
        Path.home().parent,
        Path("/usr/share"),
        Path("/opt/tool"),
        Path("/opt/tool/bin"),
    ]
    assert bubblewrap._outermost(folders) == [Path("/opt/tool")]
