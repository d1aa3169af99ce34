"""Which files of a workspace changed during a turn, whoever changed them.

Agents report what their own edit tools wrote; what a shell command wrote only a look at the files tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sphynx.contracts import Sandbox

SKIPPED = (
    ".git", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache",
    ".tox", ".next", ".turbo", ".gradle", "target",
)  # fmt: skip
"""Folders that tools fill by the thousand; what happens in them is not compared."""

MAX_BYTES = 16_000_000
LIMIT_MS = 60_000

_PRUNED = " -o ".join(f"-name {name}" for name in SKIPPED)
_FILES = f"find . -type d \\( {_PRUNED} \\) -prune -o \\( -type f -o -type l \\)"
_SCRIPT = f"""pwd -P || exit 1
if find . -maxdepth 0 -printf '' 2>/dev/null; then
  {_FILES} -printf '%s %T@ %i %p\\0'
else
  {_FILES} -exec stat -f '%z %Fm %i %N' {{}} + | tr '\\n' '\\0'
fi
exit 0
"""
"""The second way is for systems whose ``find`` cannot print. A folder nobody may read is left out."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A look at a workspace: ``files`` maps relative paths to what changes when a file does."""

    root: str
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])


async def look(box: Sandbox) -> Snapshot | None:
    """The workspace as it is; ``None`` when it is too large or cannot be looked at."""
    done = await box.exec(["/bin/sh", "-c", _SCRIPT], cwd=box.workspace, timeout_ms=LIMIT_MS, keep=MAX_BYTES)
    if done.exit_code != 0 or done.timed_out or done.stdout_bytes > MAX_BYTES:
        return None
    root, _, listed = done.stdout.partition(b"\n")
    files: dict[str, bytes] = {}
    for entry in listed.split(b"\0"):
        size, _, rest = entry.partition(b" ")
        when, _, rest = rest.partition(b" ")
        inode, _, path = rest.partition(b" ")
        if path:
            files[path.decode("utf-8", "replace").removeprefix("./")] = b" ".join((size, when, inode))
    return Snapshot(root.decode("utf-8", "replace"), files)


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """Paths that were added, changed or deleted, in order."""
    paths = before.files.keys() | after.files.keys()
    return sorted(path for path in paths if before.files.get(path) != after.files.get(path))


def relative(path: str, roots: Iterable[str]) -> str:
    """A reported path as seen from the workspace; one outside stays as it is."""
    for root in roots:
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path.removeprefix("./")
