"""Installing agents: once per machine, safely at the same time, failing in the installer's own words."""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harnesses.stand_ins import archive_on_path, npm_on_path, put
from sphynx.contracts import SandboxSpec
from sphynx.errors import StageError
from sphynx.harnesses.installing import NpmRecipe, TarballRecipe, install
from sphynx.registry import load_harness
from sphynx.sandboxes.local.backend import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio
ACME = NpmRecipe("acme", "@acme/agent", "acme")


class Remote:
    """A sandbox that shares no installs, as one on another machine."""

    def __init__(self, box: Any) -> None:
        self._box = box

    def __getattr__(self, name: str) -> Any:
        if name == "install_once":
            raise AttributeError(name)
        return getattr(self._box, name)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    return folder


@pytest.fixture
async def backend(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LocalBackend]:
    env = npm_on_path(tools)
    monkeypatch.setenv("PATH", env["PATH"])
    backend = LocalBackend(LocalRoot(tmp_path / "local"), env=env)
    yield backend
    await backend.aclose()


async def said(box: Any, program: str, *arguments: str) -> str:
    return (await box.exec([program, *arguments])).stdout.decode().strip()


async def test_what_was_installed_once_serves_every_trial(backend: LocalBackend, tools: Path) -> None:
    shown: list[str] = []
    for _ in range(2):
        box = await backend.open(SandboxSpec(trial_id="t"))
        program = await install(box, ACME, "1.2.3", shown.append)
        assert await said(box, program, "a", "b c") == "hello from the agent a b c"
    assert (tools / "npm.log").read_text().count("@acme/agent@1.2.3") == 1
    assert shown == ["installing acme@1.2.3 (once for this machine)\n", "installed acme@1.2.3\n"]


async def test_trials_that_want_it_at_the_same_time_install_it_once(
    backend: LocalBackend, tools: Path
) -> None:
    boxes = [await backend.open(SandboxSpec(trial_id=f"t{number}")) for number in range(8)]
    programs = await asyncio.gather(*(install(box, ACME, "1.2.3", None) for box in boxes))
    assert len(set(programs)) == 1
    assert (tools / "npm.log").read_text().count("install") == 1


async def test_another_version_is_another_install(backend: LocalBackend, tools: Path) -> None:
    box = await backend.open(SandboxSpec(trial_id="t"))
    assert await install(box, ACME, "1.0.0", None) != await install(box, ACME, "2.0.0", None)
    assert (tools / "npm.log").read_text().count("install") == 2


@pytest.mark.parametrize("remote", [True, False])
async def test_a_failed_install_says_the_installers_last_lines_and_leaves_nothing(
    remote: bool, backend: LocalBackend
) -> None:
    opened = await backend.open(SandboxSpec(trial_id="t"))
    box: Any = Remote(opened) if remote else opened
    recipe = NpmRecipe("acme", "broken", "acme")
    for _ in range(2):
        with pytest.raises(StageError) as caught:
            await install(box, recipe, "1.2.3", None)
        assert caught.value.message == (
            "acme@1.2.3 could not be installed: npm error code E404 npm error 404 Not Found"
        )
        assert (caught.value.stage, caught.value.cause) == ("harness", "harness")
    assert not any((backend.root.path / "harness").glob("*"))


async def test_in_a_sandbox_that_shares_nothing_it_goes_into_the_home(
    backend: LocalBackend, tools: Path
) -> None:
    box: Any = Remote(await backend.open(SandboxSpec(trial_id="t")))
    shown: list[str] = []
    program = await install(box, ACME, "1.2.3", shown.append)
    assert program == f"{box.home}/.sphynx/harness/acme@1.2.3/run"
    assert await said(box, program) == "hello from the agent"
    assert await install(box, ACME, "1.2.3", shown.append) == program
    assert (tools / "npm.log").read_text().count("install") == 1
    assert shown[0] == "installing acme@1.2.3\n"


@pytest.mark.parametrize(
    ("wanted", "refused", "own"),
    [("22", "22", True), ("22", "99", False), ("22.19", "22", True)],
)
async def test_a_node_that_is_too_old_is_replaced_by_one_from_npm(
    wanted: str, refused: str, own: bool, backend: LocalBackend, tools: Path
) -> None:
    npm_on_path(tools, refused_node=refused)
    box = await backend.open(SandboxSpec(trial_id="t"))
    program = await install(box, NpmRecipe("acme", "@acme/agent", "acme", node=wanted), "1.0.0", None)
    assert ("node@22" in (tools / "npm.log").read_text()) is own
    answer = await said(box, program, "x")
    assert answer.startswith("own-node ") if own else answer == "hello from the agent x"


async def test_an_install_without_the_program_failed(backend: LocalBackend) -> None:
    box = await backend.open(SandboxSpec(trial_id="t"))
    with pytest.raises(StageError, match=r"acme@1\.0\.0 could not be installed: npm failed"):
        await install(box, NpmRecipe("acme", "@acme/agent", "other"), "1.0.0", None)


async def test_without_npm_the_error_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("cat", "mkdir", "dirname", "chmod", "sh"):
        (bare / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(bare))
    backend = LocalBackend(LocalRoot(tmp_path / "local"), env={"PATH": str(bare)})
    try:
        box = await backend.open(SandboxSpec(trial_id="t"))
        with pytest.raises(StageError, match=r"npm is missing; it comes with Node\.js"):
            await install(box, ACME, "1.0.0", None)
    finally:
        await backend.aclose()


async def test_an_archive_is_unpacked_wherever_its_program_lies(backend: LocalBackend, tools: Path) -> None:
    archive_on_path(tools, "acme", '#!/bin/sh\necho unpacked "$@"\n')
    recipe = TarballRecipe("acme", "https://acme.test/$version/$os-$arch.tar.gz", "acme", latest="echo 9.9.9")
    box = await backend.open(SandboxSpec(trial_id="t"))
    assert await said(box, await install(box, recipe, "1.2.3", None), "a") == "unpacked a"
    await install(box, recipe, "latest", None)
    asked = (tools / "curl.log").read_text()
    assert "https://acme.test/1.2.3/" in asked and "https://acme.test/9.9.9/" in asked


async def test_vendors_have_their_own_words_for_a_system(backend: LocalBackend, tools: Path) -> None:
    archive_on_path(tools, "acme", "#!/bin/sh\n")
    here, word = platform.system().lower(), "the-system"
    recipe = TarballRecipe("acme", "https://acme.test/$os.tar.gz", "acme", systems={here: word})
    await install(await backend.open(SandboxSpec(trial_id="t")), recipe, "1", None)
    assert f"https://acme.test/{word}.tar.gz" in (tools / "curl.log").read_text()


@pytest.mark.parametrize(
    ("agent", "asked"),
    [
        ("cursor", r"https://downloads\.cursor\.com/lab/20\d\d\.\d\d\.\d\d-\w+/linux/x64/agent-cli-package"),
        ("fx", r"https://releases\.fx\.sh/v\d+\.\d+\.\d+/fx-linux-x86_64\.tar\.gz"),
    ],
)
async def test_the_archives_of_cursor_and_fx_have_a_version(
    backend: LocalBackend, tools: Path, agent: str, asked: str
) -> None:
    """The default is one version, at the address where its vendor's install script gets it."""
    factory = load_harness(agent)
    archive_on_path(tools, factory.recipe.program, "#!/bin/sh\n")
    put(tools, "uname", '#!/bin/sh\ncase "$1" in -s) echo Linux;; *) echo x86_64;; esac\n')
    await install(await backend.open(SandboxSpec(trial_id="t")), factory.recipe, factory.version, None)
    assert re.search(asked, (tools / "curl.log").read_text())


async def test_an_archive_that_is_not_there_or_holds_something_else(
    backend: LocalBackend, tools: Path
) -> None:
    archive_on_path(tools, "acme", "#!/bin/sh\n")
    box = await backend.open(SandboxSpec(trial_id="t"))
    with pytest.raises(StageError, match="returned error: 404"):
        await install(box, TarballRecipe("acme", "https://acme.test/gone", "acme"), "1", None)
    with pytest.raises(StageError, match="the archive holds no other"):
        await install(box, TarballRecipe("acme", "https://acme.test/x", "other"), "1", None)


async def test_a_cancelled_install_ends_its_processes_and_can_be_done_again(
    backend: LocalBackend, tools: Path
) -> None:
    box = await backend.open(SandboxSpec(trial_id="t"))
    task = asyncio.create_task(install(box, ACME, "1.2.3", None))
    while not (tools / "npm.log").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await said(box, await install(box, ACME, "1.2.3", None)) == "hello from the agent"
