"""What the agent changed: a look at the workspace before and after it, by whatever way is cheapest."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import Any

import anyio.to_thread

from sphynx.contracts import Sandbox
from sphynx.engine import git_diff, tree
from sphynx.engine.diff import Changes, compare
from sphynx.engine.git_diff import GitState
from sphynx.engine.tree import Tree
from sphynx.results.artifacts import candidates

_REMOVED = "the agent removed its workspace; the checks saw an empty one"
_MENDED = 99
_MEND = (
    'if [ -d "$1" ] && [ ! -L "$1" ]; then chmod u+rwx "$1"; exit 0; fi; '
    f'rm -f "$1"; mkdir -m 700 "$1"; exit {_MENDED}'
)


def host_path(box: Sandbox) -> str | None:
    """Where the workspace is on this machine, for a sandbox that is on it."""
    return getattr(box, "host_workspace", None)


async def remember(box: Sandbox, source: Any) -> Tree | GitState | None:
    """The state before the agent. Clones are compared by git, which need not read what did not change."""
    root = host_path(box)
    if root is None or source.kind == "repo":
        return await git_diff.remember(box)
    return await _scan(root)


async def changes_since(box: Sandbox, before: Tree | GitState | None) -> Changes:
    """What is different now."""
    root = host_path(box)
    if isinstance(before, Tree) and root is not None:
        after = await _scan(root)
        if len(before.files) + len(after.files) <= tree.QUICK:
            return compare(before, after)
        return await anyio.to_thread.run_sync(compare, before, after)
    found = await git_diff.changes_since(box, before if isinstance(before, GitState) else None)
    if root is None:
        found.contents = await _contents(box, found.paths)
        return found
    for path in candidates(found.paths):
        data = tree.read_file(root, path)
        if data is not None:
            found.contents[path] = data
    return found


async def _contents(box: Sandbox, paths: Sequence[str]) -> dict[str, bytes]:
    """The bytes of changed files that are small, out of a sandbox that is not on this machine."""
    found: dict[str, bytes] = {}
    for path in candidates(paths):
        try:
            data = await box.read(path, limit=tree.MAX_FILE_BYTES + 1)
        except OSError:
            continue  # removed, a link that leaves, or a folder of another repository
        if len(data) <= tree.MAX_FILE_BYTES:
            found[path] = data
    return found


async def make_usable(box: Sandbox) -> str | None:
    """Give the checks a workspace they can enter, and a note when the agent left none.

    Otherwise an agent could take back a result by removing or locking its workspace, or have the checks run
    in another folder by putting a link in its place.
    """
    root = host_path(box)
    if root is None:
        done = await box.exec(["/bin/sh", "-c", _MEND, "sh", box.workspace], cwd="/")
        return _REMOVED if done.exit_code == _MENDED else None
    try:
        mode = os.lstat(root).st_mode
        if stat.S_ISDIR(mode):
            if mode & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(root, mode | stat.S_IRWXU)  # noqa: PTH101
            return None
        os.unlink(root)  # noqa: PTH108
    except FileNotFoundError:
        pass
    os.makedirs(root, 0o700)  # noqa: PTH103
    return _REMOVED


async def _scan(root: str) -> Tree:
    """Small trees at once, large ones in a thread so that other trials go on."""
    try:
        return tree.scan(root, limit=tree.QUICK, strict=True)
    except tree.TooManyFiles:
        return await anyio.to_thread.run_sync(tree.scan, root)
