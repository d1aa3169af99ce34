"""The cache of a case: restored and saved as a whole, never replaced, never outside the workspace."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from sphynx.sandboxes.case_cache import CaseCache
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio


@dataclass
class Box:
    host_workspace: str


def workspace(path: Path) -> Box:
    path.mkdir(parents=True)
    return Box(str(path))


@pytest.fixture
def cache(root: LocalRoot) -> CaseCache:
    return CaseCache(root)


async def test_what_is_saved_is_restored(cache: CaseCache, tmp_path: Path) -> None:
    """Files, modes, links and folders of one trial are there in the next."""
    first, second = workspace(tmp_path / "1"), workspace(tmp_path / "2")
    folder = tmp_path / "1" / "deps" / "sub"
    folder.mkdir(parents=True)
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool").chmod(0o755)
    (folder / "link").symlink_to("tool")
    os.mkfifo(folder / "pipe")
    assert await cache.restore(first, "key", "deps") is False
    assert await cache.save(first, "key", "deps") is True
    assert await cache.restore(second, "key", "./deps/") is True
    there = tmp_path / "2" / "deps" / "sub"
    assert os.access(there / "tool", os.X_OK)
    assert os.readlink(there / "link") == "tool"
    assert not (there / "pipe").exists()


async def test_keys_and_paths_tell_entries_apart(cache: CaseCache, tmp_path: Path) -> None:
    """Another key, or another path under the same key, is another entry."""
    box = workspace(tmp_path / "1")
    (tmp_path / "1" / "a").write_text("a")
    await cache.save(box, "key", "a")
    assert await cache.restore(box, "other", "a") is False
    assert await cache.restore(box, "key", "b") is False
    assert await cache.restore(box, "key", "a") is True


async def test_the_first_entry_stays(cache: CaseCache, tmp_path: Path) -> None:
    """Trials that save the same key at the same time leave one whole entry; none of them fails."""
    boxes = [workspace(tmp_path / str(number)) for number in range(8)]
    for number in range(8):
        for name in ("x", "y"):
            (tmp_path / str(number) / "deps").mkdir(exist_ok=True)
            (tmp_path / str(number) / "deps" / name).write_text(str(number))
    saved = await asyncio.gather(*(cache.save(box, "key", "deps") for box in boxes))
    assert sum(saved) == 1
    target = workspace(tmp_path / "target")
    assert await cache.restore(target, "key", "deps")
    texts = {(tmp_path / "target" / "deps" / name).read_text() for name in ("x", "y")}
    assert texts == {str(saved.index(True))}


async def test_nothing_to_save(cache: CaseCache, tmp_path: Path) -> None:
    """A path that is not there is not saved."""
    assert await cache.save(workspace(tmp_path / "1"), "key", "deps") is False


@pytest.mark.parametrize("path", ["../out", "/etc", ".", "a/../../out", "link/inside"])
async def test_paths_may_not_leave_the_workspace(cache: CaseCache, tmp_path: Path, path: str) -> None:
    """A path, or a link on its way, that leads out of the workspace is refused both ways."""
    good = workspace(tmp_path / "good")
    (tmp_path / "good" / "out").write_text("x")
    box = workspace(tmp_path / "1")
    (tmp_path / "1" / "link").symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        await cache.save(box, "key", path)
    await cache.save(good, "key", "out")
    for entry in (tmp_path / "root" / "cache").iterdir():
        entry.rename(cache._entry("key", path))
    with pytest.raises(PermissionError):
        await cache.restore(box, "key", path)


async def test_use_is_noted(cache: CaseCache, root: LocalRoot, tmp_path: Path) -> None:
    """A restored entry counts as used now, so that tidying keeps it."""
    box = workspace(tmp_path / "1")
    (tmp_path / "1" / "a").write_text("a")
    await cache.save(box, "key", "a")
    (entry,) = root.cache.iterdir()
    os.utime(entry, (time.time() - 40 * 86_400,) * 2)
    assert await cache.restore(box, "key", "a")
    root.tidy()
    assert entry.exists()
