"""What an isolated trial needs on the host: folders, options, and its bundle while a function runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sphynx.sandboxes import bubblewrap
from sphynx.sandboxes.local import interpreter, wire
from sphynx.sandboxes.local.box import Place
from sphynx.sandboxes.local.paths import Folders, Root
from sphynx.sandboxes.local.removal import remove_now
from sphynx.sandboxes.local_root import ISOLATED, PACKAGE_CACHES, LocalRoot


def place(folder: Path, walls: bubblewrap.Walls) -> Place:
    """Make the trial's folders; inside they are the workspace, /home/agent and /tmp."""
    for name in ("work", "home", "tmp", "bundle"):
        os.mkdir(f"{folder}/{name}", 0o700)
    for name, text in walls.accounts().items():
        (folder / name).write_text(text)
    roots = [
        Root(walls.workspace, f"{folder}/work"),
        Root(bubblewrap.HOME, f"{folder}/home"),
        Root(bubblewrap.TMP, f"{folder}/tmp"),
    ]
    return Place(folder, walls.workspace, bubblewrap.HOME, bubblewrap.TMP, Folders(roots))


def environment(walls: bubblewrap.Walls) -> dict[str, str]:
    """The variables of every command."""
    caches = {name: f"{bubblewrap.PACKAGES}/{folder}" for name, folder in PACKAGE_CACHES.items()}
    path = f"{bubblewrap.HOME}/.local/bin:{walls.path}"
    paths = {"PATH": path, "HOME": bubblewrap.HOME, "TMPDIR": bubblewrap.TMP}
    return {**paths, **caches, **bubblewrap.VARIABLES}


def command(walls: bubblewrap.Walls) -> list[str]:
    """Starts a supervisor inside."""
    return walls.argv(interpreter.part_command("supervisor", 3))


def options(walls: bubblewrap.Walls, folder: Path, root: LocalRoot) -> int:
    """A memory file with bubblewrap's options; the caller closes it."""
    return wire.in_memory(walls.options(folder, root.packages / ISOLATED))


@contextmanager
def bundle_inside(folder: Path, bundle: Path) -> Iterator[str]:
    """The bundle as a copy the trial can read, there only while one of its functions runs."""
    target = folder / "bundle"
    shutil.copytree(bundle, target, symlinks=True, dirs_exist_ok=True)
    try:
        yield bubblewrap.BUNDLE
    finally:
        for entry in target.iterdir():
            remove_now(entry)
