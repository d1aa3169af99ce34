"""What travels into a container: the rooms an eval file may import, and the programs that serve a sandbox."""

from __future__ import annotations

import io
import tarfile
from functools import cache
from pathlib import Path

from sphynx.sandboxes.docker import layout

_PACKAGE = Path(__file__).parents[2]
_ROOMS = ("suite", "validators", "mocks", "runner", "guest", "sandboxes/docker/inside")
_FILES = (
    "__init__.py", "_version.py", "errors.py", "sandboxes/__init__.py", "sandboxes/trees.py",
    "sandboxes/local/__init__.py", "sandboxes/local/killing.py", "sandboxes/local/paths.py",
    "sandboxes/docker/__init__.py", "sandboxes/docker/frames.py", "sandboxes/docker/layout.py",
)  # fmt: skip

PYTHON = "python3"
_OLD = "import sys; sys.version_info >= (3, 11) or sys.exit('python %d.%d' % sys.version_info[:2]); "
_FROM = f"{_OLD}sys.path.insert(0, {layout.LIBRARY!r}); from sphynx.sandboxes.docker.inside import "


@cache
def archive() -> bytes:
    """A tar of it, to be unpacked at ``/``: everything is root's and nobody else may change it."""
    paths = [_PACKAGE / name for name in _FILES]
    for room in _ROOMS:
        paths += sorted((_PACKAGE / room).rglob("*.py"))
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        folders = {parent for path in paths for parent in path.relative_to(_PACKAGE).parents}
        for folder in (layout.ROOT, layout.LIBRARY):
            _folder(tar, folder)
        for folder in sorted(folders):
            _folder(tar, f"{layout.LIBRARY}/sphynx/{folder.as_posix()}")
        for path in paths:
            data = path.read_bytes()
            entry = tarfile.TarInfo(f"{layout.LIBRARY}/sphynx/{path.relative_to(_PACKAGE).as_posix()}"[1:])
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def _folder(tar: tarfile.TarFile, path: str) -> None:
    entry = tarfile.TarInfo(path[1:].removesuffix("/."))
    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
    tar.addfile(entry)


def init_command(lifetime_s: int, socket: str) -> list[str]:
    """The first process of a container."""
    return [PYTHON, "-I", "-c", f"{_FROM}init; init.main({lifetime_s:d}, {socket!r})"]


def runner_command() -> list[str]:
    """The program behind a call."""
    return [PYTHON, "-I", "-c", f"{_FROM}runner; runner.main()"]
