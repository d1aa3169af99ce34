"""The shared folder of local runs: tidied, shared and locked as documented."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sandboxes.processes import wait_until_gone
from sphynx.sandboxes.local_root import LocalRoot, install_key

DAY_S = 86_400


def make(path: Path, *, age_s: float, file: str = "content") -> Path:
    """A folder with a file in it, last used ``age_s`` ago."""
    path.mkdir(parents=True)
    (path / file).write_text("x")
    os.utime(path, (time.time() - age_s,) * 2)
    return path


def test_making_it_touches_nothing(tmp_path: Path) -> None:
    """Folders are made on use."""
    root = LocalRoot(tmp_path / "root")
    assert not root.path.exists()
    assert root.harness.is_dir()
    assert sorted(entry.name for entry in root.path.iterdir()) == ["CACHEDIR.TAG", "harness"]


def test_where_it_is(tmp_path: Path) -> None:
    """``SPHYNX_LOCAL_ROOT`` moves it; blank counts as unset."""
    assert LocalRoot(environ={"SPHYNX_LOCAL_ROOT": str(tmp_path)}).path == tmp_path
    assert LocalRoot(environ={"SPHYNX_LOCAL_ROOT": "  "}).path == Path.home() / ".sphynx" / "local"
    assert LocalRoot(environ={}).path == Path.home() / ".sphynx" / "local"


def test_tidy_removes_the_unused_and_keeps_the_rest(tmp_path: Path) -> None:
    """Thirty days unused: gone. Used since, of any age: kept."""
    root = LocalRoot(tmp_path / "root")
    old = [make(root.path / kind / "old", age_s=31 * DAY_S) for kind in ("harness", "cache", "packages")]
    new = [make(root.path / kind / "new", age_s=29 * DAY_S) for kind in ("harness", "cache", "packages")]
    root.tidy()
    assert not any(entry.exists() for entry in old)
    assert all((entry / "content").exists() for entry in new)
    assert list(root.staging.iterdir()) == []


def test_tidy_clears_staging(tmp_path: Path) -> None:
    """Entries of a crashed run go after an hour, what was moved aside at once; what is written stays."""
    root = LocalRoot(tmp_path / "root")
    crashed = make(root.staging / "entry-crashed", age_s=3700)
    written = make(root.staging / "entry-written", age_s=60)
    retired = make(root.staging / "retired-now", age_s=0)
    root.tidy()
    assert (crashed.exists(), written.exists(), retired.exists()) == (False, True, False)


def test_tidy_removes_what_older_versions_left(tmp_path: Path) -> None:
    """The shared ``home`` and npm downloads inside installs go; the installs stay."""
    root = LocalRoot(tmp_path / "root")
    home = make(root.path / "home", age_s=0)
    install = make(root.path / "harness" / "codex_401.0.0", age_s=DAY_S)
    make(install / ".npm", age_s=0)
    os.utime(install, (time.time() - DAY_S,) * 2)
    root.tidy()
    assert not home.exists()
    assert (install / "content").exists() and not (install / ".npm").exists()


def test_tidy_without_a_root_does_nothing(tmp_path: Path) -> None:
    """Tidying where nothing is makes nothing and raises nothing."""
    LocalRoot(tmp_path / "root").tidy()
    assert not (tmp_path / "root").exists()


def test_tidy_ignores_what_it_cannot_remove(tmp_path: Path) -> None:
    """Files where folders are expected do not stop it."""
    root = LocalRoot(tmp_path / "root")
    root.path.mkdir()
    (root.path / "cache").write_text("a file")
    old = make(root.path / "harness" / "old", age_s=31 * DAY_S)
    root.tidy()
    assert not old.exists()


def test_two_tidy_at_once(tmp_path: Path) -> None:
    """Many runs that tidy the same root at the same time remove everything once and raise nothing."""
    root = LocalRoot(tmp_path / "root")
    for number in range(30):
        make(root.path / "cache" / f"old-{number}", age_s=31 * DAY_S)
    kept = make(root.path / "cache" / "kept", age_s=0)
    problems: list[BaseException] = []

    def tidy() -> None:
        try:
            LocalRoot(root.path).tidy()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=tidy) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert list((root.path / "cache").iterdir()) == [kept]
    assert list(root.staging.iterdir()) == []


def test_package_caches_are_marked_as_used(tmp_path: Path) -> None:
    """Opening a trial refreshes the package caches, so that tidying finds them in use."""
    root = LocalRoot(tmp_path / "root")
    npm = make(root.path / "packages" / "npm", age_s=31 * DAY_S)
    variables = root.package_variables()
    assert variables["npm_config_cache"] == str(npm)
    assert variables["BUN_INSTALL_CACHE_DIR"] == str(root.path / "packages" / "bun")
    root.tidy()
    assert npm.exists()


# --- trials


def dead_trial(root: LocalRoot, *, then: str = "") -> Path:
    """A trial folder made by a process that is gone."""
    program = (
        "import sys; from pathlib import Path; from sphynx.sandboxes.local_root import LocalRoot; "
        "folder = LocalRoot(Path(sys.argv[1])).new_trial('dead'); print(folder, flush=True)\n" + then
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root.path)], capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def test_trial_folders_of_dead_runs_go(tmp_path: Path) -> None:
    """Folders whose holder is gone are removed; folders of this process are not."""
    root = LocalRoot(tmp_path / "root")
    dead, mine = dead_trial(root), root.new_trial("mine")
    assert root.clear_dead_trials() == 1
    assert (dead.exists(), mine.exists()) == (False, True)


def test_a_reused_process_number_is_noticed(tmp_path: Path) -> None:
    """A lock with the number of a living process that started at another time is a dead one's."""
    root = LocalRoot(tmp_path / "root")
    folder = root.new_trial("recycled")
    lock = folder / "lock"
    text = lock.read_text()
    lock.write_text(text.replace('"started": "', '"started": "1'))
    assert root.clear_dead_trials() == 1
    assert not folder.exists()


def test_trials_of_another_container_are_left_alone(tmp_path: Path) -> None:
    """Process numbers of another pid namespace say nothing here, so its folders are taken as held."""
    root = LocalRoot(tmp_path / "root")
    folder = root.new_trial("elsewhere")
    lock = folder / "lock"
    lock.write_text(
        lock.read_text().replace("pid:[", "pid:[9").replace(f'"pid": {os.getpid()}', '"pid": 999999')
    )
    assert root.clear_dead_trials() == 0
    assert folder.exists()


def test_trials_from_before_a_reboot_go(tmp_path: Path) -> None:
    """After a reboot nobody holds anything."""
    root = LocalRoot(tmp_path / "root")
    folder = root.new_trial("before")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    lock = folder / "lock"
    lock.write_text(lock.read_text().replace(boot, "00000000-0000-0000-0000-000000000000"))
    assert root.clear_dead_trials() == 1
    assert not folder.exists()


def test_a_folder_without_a_lock_is_given_time(tmp_path: Path) -> None:
    """One that holds something is left alone; an hour later it is removed."""
    root = LocalRoot(tmp_path / "root")
    fresh = make(root.trials / "fresh", age_s=1)
    stale = make(root.trials / "stale", age_s=3700)
    assert root.clear_dead_trials() == 1
    assert (fresh.exists(), stale.exists()) == (True, False)


def test_an_empty_folder_of_a_run_that_was_killed_at_once_goes(tmp_path: Path) -> None:
    """It has no lock to say so; runs that make folders at that moment get others, and lose none."""
    root = LocalRoot(tmp_path / "root")
    (root.trials / "just-made").mkdir()
    done = threading.Event()

    def tidy() -> None:
        while not done.is_set():
            root.clear_dead_trials()

    other = threading.Thread(target=tidy)
    other.start()
    try:
        made = [root.new_trial("mine") for _ in range(200)]
    finally:
        done.set()
        other.join()
    assert sorted(root.trials.iterdir()) == sorted(made)
    assert all((folder / "lock").is_file() for folder in made)


def test_processes_left_in_dead_trials_are_killed(tmp_path: Path) -> None:
    """Should everything of a run have been killed but a process of a trial, the next run ends it."""
    root = LocalRoot(tmp_path / "root")
    then = (
        "import subprocess, os; os.makedirs(folder / 'work')\n"
        "subprocess.Popen(['setsid', 'sleep', '300.707172'], cwd=folder / 'work')\n"
        "subprocess.Popen(['setsid', 'sleep', '301.707172'], cwd='/', env={'HOME': str(folder / 'home')})\n"
    )
    then = then.replace("cwd=folder", "stdout=-3, stderr=-3, cwd=folder").replace(
        "cwd='/'", "stdout=-3, stderr=-3, cwd='/'"
    )
    dead = dead_trial(root, then=then)
    assert root.clear_dead_trials() == 1
    assert not dead.exists()
    assert wait_until_gone("707172") == []


# --- installs


def test_install_names() -> None:
    """The folder of an install is its name with odd characters in hex behind an underscore."""
    assert install_key("gemini@1.0.0") == "gemini_401.0.0"
    assert install_key("a/b c_d") == "a_2fb_20c_5fd"
    assert install_key("../up") == ".._2fup"


@pytest.mark.anyio
async def test_installs_are_built_once(tmp_path: Path) -> None:
    """Of many trials that want an install first, one builds it and all get the same."""
    root = LocalRoot(tmp_path / "root")
    built = 0

    async def build(folder: Path) -> None:
        nonlocal built
        built += 1
        await asyncio.sleep(0.2)
        (folder / "program").write_text("x")

    found = await asyncio.gather(*(root.install_once("tool@1", build) for _ in range(10)))
    assert built == 1
    assert {str(folder) for folder in found} == {str(root.harness / "tool_401")}
    assert (found[0] / "program").exists()
    assert [entry.name for entry in root.staging.iterdir() if entry.name.startswith("entry-")] == []


@pytest.mark.anyio
async def test_a_failed_install_leaves_nothing(tmp_path: Path) -> None:
    """What the builder raises is raised, nothing is kept, and the next attempt builds anew."""
    root = LocalRoot(tmp_path / "root")

    async def fail(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise RuntimeError("no network")

    async def build(folder: Path) -> None:
        (folder / "whole").write_text("x")

    with pytest.raises(RuntimeError, match="no network"):
        await root.install_once("tool@1", fail)
    folder = await root.install_once("tool@1", build)
    assert [entry.name for entry in folder.iterdir()] == ["whole"]


INSTALLER = """
import asyncio, sys
from pathlib import Path
from sphynx.sandboxes.local_root import LocalRoot

async def build(folder):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    await asyncio.sleep(0.3)
    (folder / "program").write_text("x")

folder = asyncio.run(LocalRoot(Path(sys.argv[1])).install_once("tool@1", build))
assert (folder / "program").exists()
"""


def test_installs_are_built_once_across_processes(tmp_path: Path) -> None:
    """Runs that start side by side share one install."""
    log = tmp_path / "log"
    command = [sys.executable, "-c", INSTALLER, str(tmp_path / "root"), str(log)]
    runs = [subprocess.Popen(command) for _ in range(4)]
    assert [run.wait() for run in runs] == [0, 0, 0, 0]
    assert log.read_text() == "built\n"


@pytest.mark.anyio
async def test_using_an_install_keeps_it(tmp_path: Path) -> None:
    """An install that is used is not removed by the next tidying, however old it is."""
    root = LocalRoot(tmp_path / "root")

    async def build(folder: Path) -> None:
        (folder / "program").write_text("x")

    folder = await root.install_once("tool@1", build)
    os.utime(folder, (time.time() - 40 * DAY_S,) * 2)
    await root.install_once("tool@1", build)
    root.tidy()
    assert (folder / "program").exists()
