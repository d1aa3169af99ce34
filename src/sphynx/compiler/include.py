"""Data files a suite names with ``include=``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sphynx.compiler.closure import check_travels
from sphynx.errors import CompileError


def included(patterns: Iterable[str], folder: Path, root: Path) -> set[Path]:
    """The files that ``patterns`` name, relative to ``folder``; a folder stands for every file below it.

    Everything must lie inside the project ``root``. ``CompileError`` when a pattern leaves it or matches
    nothing.
    """
    found: set[Path] = set()
    for pattern in patterns:
        files = _matches(pattern, folder, root)
        if not files:
            raise CompileError(
                f'include "{pattern}" matches no file',
                hint=f"patterns are relative to {folder.name}/, for example data/*.json",
            )
        found |= files
    for file in found:
        check_travels(file, root)
    return found


def _matches(pattern: str, folder: Path, root: Path) -> set[Path]:
    top, rest = folder, pattern
    while rest.startswith(("../", "./")):
        head, _, rest = rest.partition("/")
        top = top.parent if head == ".." else top
    if Path(pattern).is_absolute() or not top.is_relative_to(root) or ".." in Path(rest).parts:
        raise CompileError(f'include "{pattern}" leaves the project', hint="copy the file into the project")
    files: set[Path] = set()
    for path in top.glob(rest) if rest not in ("", ".", "..") else [top]:
        files |= _files(path, root)
    return files


def _files(path: Path, root: Path) -> set[Path]:
    if not path.is_dir():
        return {path} if path.is_file() else set()
    out: set[Path] = set()
    for top, folders, names in os.walk(path):
        folders[:] = [name for name in folders if name not in ("__pycache__", ".git")]
        for folder in (Path(top), *(Path(top, name) for name in folders)):
            if folder.is_symlink():
                shown = folder.relative_to(root).as_posix()
                raise CompileError(
                    f"{shown}: is a link to a folder, which does not travel", hint="name the folder itself"
                )
        for file in (Path(top, name) for name in names):
            if file.is_file():
                out.add(file)
            elif file.is_symlink():
                raise CompileError(f"{file.relative_to(root).as_posix()}: is a link to nothing")
    return out
