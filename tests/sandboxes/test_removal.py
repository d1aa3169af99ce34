"""Folders of trials are removed whatever is in them, without touching what lies outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sphynx.sandboxes.local.removal import remove, remove_now


def test_very_deep_trees(tmp_path: Path) -> None:
    """A tree deeper than a path may be long, and than Python may recurse, is removed."""
    folder = tmp_path / "deep"
    folder.mkdir()
    try:
        here = os.open(folder, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        assert remove_now(folder)
    finally:  # what is left would break pytest's own cleaning
        subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


def test_links_are_removed_not_followed(tmp_path: Path) -> None:
    """What a link points at stays, whether the link lies in the folder or is the folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link").symlink_to(outside)
    (tmp_path / "itself").symlink_to(outside)
    assert remove_now(tmp_path / "folder")
    assert remove_now(tmp_path / "itself")
    assert (outside / "file").exists()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["outside"]


def test_files_and_nothing(tmp_path: Path) -> None:
    """A file is removed too, and nothing is removed already."""
    (tmp_path / "file").write_text("x")
    assert remove_now(tmp_path / "file")
    assert remove_now(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
@pytest.mark.parametrize("count", [10, 1000])
async def test_small_and_large(tmp_path: Path, count: int) -> None:
    """Small trees go at once, large ones in a thread; both are gone afterwards."""
    folder = tmp_path / "folder"
    for number in range(count):
        sub = folder / str(number % 7)
        sub.mkdir(parents=True, exist_ok=True)
        (sub / str(number)).write_text("")
    assert await remove(folder)
    assert not folder.exists()


def test_the_own_files_of_a_folder_go_last(tmp_path: Path) -> None:
    """A removal that is killed half way leaves the lock that says whose the folder was."""
    folder = tmp_path / "trial"
    (folder / "home" / "deep").mkdir(parents=True)
    (folder / "home" / "deep" / "file").write_text("x")
    (folder / "lock").write_text("{}")
    program = """if True:
        import os, sys
        from pathlib import Path
        from sphynx.sandboxes.local.removal import remove_now
        folder = Path(sys.argv[1])
        def watch(event, args):
            if event in ("os.remove", "os.rmdir") and f"{folder}/home" in str(args[0]):
                print(os.path.exists(folder / "lock"))
        sys.addaudithook(watch)
        print(remove_now(folder))
    """
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"] * 4
