"""What ``--keep-workspace`` copies, and what it leaves out of a workspace an agent filled."""

from __future__ import annotations

import os
from pathlib import Path

from sphynx.engine import kept_workspace


def test_files_links_and_folders_are_copied(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "file.txt").write_text("x")
    (source / "to-folder").symlink_to("sub")
    (source / "to-nothing").symlink_to("gone")
    assert kept_workspace.copy(str(source), str(target)) is None
    assert (target / "sub" / "file.txt").read_text() == "x"
    assert (target / "to-folder").readlink() == Path("sub")
    assert (target / "to-nothing").readlink() == Path("gone")


def test_what_would_fill_the_disk_or_hang_is_left_out(tmp_path: Path) -> None:
    """A sparse file takes its whole size when copied, and nobody ever writes into a pipe."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "small").write_text("x")
    with (source / "sparse").open("wb") as file:
        file.truncate(200 * 1024**3)
    os.mkfifo(source / "pipe")
    note = kept_workspace.copy(str(source), str(target))
    assert note == "2 files of the workspace were not kept: too large, or not to be read"
    assert [entry.name for entry in target.iterdir()] == ["small"]


def test_a_workspace_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("x")
    (tmp_path / "source").symlink_to("outside")
    assert kept_workspace.copy(str(tmp_path / "source"), str(tmp_path / "target"))
    assert not (tmp_path / "target" / "file").exists()
