"""Which eval files a command means: every ``*_eval.py`` below a folder, or the paths it was given."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sphynx.compiler.project import absolute
from sphynx.errors import UsageError
from sphynx.schema.utf16 import order

SUFFIX = "_eval.py"
SKIPPED_FOLDERS = frozenset({"node_modules", "dist", "build", "venv", "site-packages", "__pycache__"})
CACHE_TAG = "CACHEDIR.TAG"
"""Marks a folder as one of caches, such as the local root, which holds copies of eval files."""


def find(cwd: Path, paths: Sequence[str | os.PathLike[str]] = ()) -> list[Path]:
    """The eval files meant by ``paths`` (files or folders, relative to ``cwd``), absolute, each once.

    Without paths: every eval file below ``cwd``. Files keep the order they were named in; those of a folder
    are sorted by UTF-16 code unit of their path. ``UsageError`` when a path is not there, is no Python file,
    or nothing at all was found.
    """
    cwd = absolute(cwd)
    if not paths:
        found = list(below(cwd))
        if not found:
            raise UsageError(f"no eval files (*{SUFFIX}) under {cwd}", hint="name a file or a folder")
        return found
    files: dict[Path, None] = {}
    for path in paths:
        files.update(dict.fromkeys(_named(cwd, os.fspath(path))))
    return list(files)


def below(folder: Path) -> Iterator[Path]:
    """Every eval file below ``folder``, sorted, without hidden entries and folders of built or foreign code.

    Links to folders are not followed: a target below ``folder`` is found where it really is, and one outside
    could lead anywhere.
    """
    found: list[Path] = []
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _skipped(Path(top, name))]
        found += [Path(top, name) for name in names if name.endswith(SUFFIX) and not name.startswith(".")]
    files = [path for path in found if os.path.isfile(path)]  # noqa: PTH113
    yield from sorted(files, key=lambda path: order(path.relative_to(folder).as_posix()))


def _skipped(folder: Path) -> bool:
    if folder.name.startswith(".") or folder.name in SKIPPED_FOLDERS:
        return True
    # os.path: what may not be looked into is no reason to stop.
    return any(os.path.exists(folder / mark) for mark in ("pyvenv.cfg", CACHE_TAG))  # noqa: PTH110


def _named(cwd: Path, text: str) -> list[Path]:
    path = absolute(text, cwd)
    if path.is_dir():
        found = list(below(path))
        if not found:
            raise UsageError(f"no eval files (*{SUFFIX}) under {text}")
        return found
    if not path.exists():
        raise UsageError(f"no such file: {text}", hint=_nearest(cwd, text))
    if path.suffix != ".py":
        raise UsageError(f"{text} is not a Python file", hint=f"an eval file is named like smoke{SUFFIX}")
    return [path]


def _nearest(cwd: Path, text: str) -> str | None:
    known = [path.relative_to(cwd).as_posix() for path in below(cwd)]
    wanted = Path(text).as_posix().removeprefix("./")
    for told in (lambda path: path, lambda path: Path(path).name):
        # Without the ending that all of them share, or everything would be near.
        by_stem = {_stem(told(path)): path for path in reversed(known)}
        close = difflib.get_close_matches(_stem(told(wanted)), list(by_stem), 1, 0.6)
        if close:
            return f"did you mean {by_stem[close[0]]}?"
    return None


def _stem(path: str) -> str:
    return path.removesuffix(".py").removesuffix("_eval")
