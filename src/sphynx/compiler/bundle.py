"""Write a compiled eval file as a folder that ``sphynx.guest.bundle`` can run, and pack one for the wire."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sphynx.compiler.closure import Closure, closure, unreadable
from sphynx.compiler.include import included
from sphynx.compiler.load import Loaded, shown_path
from sphynx.compiler.requirements import pinned
from sphynx.contracts import BundleRef
from sphynx.errors import CompileError
from sphynx.mocks.schemas import libraries

FORMAT = 1
MANIFEST = "bundle.json"
TREE = "tree"


@dataclass(slots=True)
class Contents:
    """What a bundle holds: ``manifest`` is ``bundle.json``, ``files`` the tree (relative path to content)."""

    manifest: dict[str, Any]
    files: dict[str, bytes]
    sources: list[str] = field(default_factory=list[str])
    """The project's own Python files, the eval file first."""
    warnings: list[str] = field(default_factory=list[str])

    @property
    def digest(self) -> str:
        """32 hex characters that stand for everything in the bundle."""
        return _digest(self.manifest, self.files)

    @property
    def identity(self) -> str:
        """32 hex characters for what the author wrote: the tree and how it is imported."""
        return _digest({key: self.manifest[key] for key in ("entry", "module", "roots")}, self.files)


def collect(loaded: Loaded, include: Iterable[str], cwd: Path) -> Contents:
    """Gather the eval file, what it imports below the project root, and its data files."""
    place = loaded.layout
    found = closure(place, loaded.files)
    data = included(include, place.path.parent, place.root)
    mocked = [suite for suite in loaded.suites if suite.mocks and not suite.problems()]
    needs = pinned(found.foreign.union(*(libraries(suite) for suite in mocked)))
    paths = {path.relative_to(place.root).as_posix(): path for path in sorted({*found.files, *data})}
    manifest = {
        "format": FORMAT,
        "entry": place.entry,
        "module": place.module,
        "roots": [root.relative_to(place.root).as_posix() for root in found.roots],
        "requirements": needs.pins,
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    sources = sorted(path.relative_to(place.root).as_posix() for path in found.files)
    sources.sort(key=lambda name: name != place.entry)
    return Contents(
        manifest,
        {name: _content(name, path) for name, path in paths.items()},
        sources,
        [*_dynamic(found, cwd), *_missing(needs.missing, place.path, cwd)],
    )


def _content(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(name, error) from error


def write(contents: Contents, staging: Path) -> BundleRef:
    """Put a bundle into ``staging/<digest>/``; one that is already there whole is used as it is.

    The folder appears in one step, so another run never sees half of it. ``CompileError`` when it cannot be
    written.
    """
    digest = contents.digest
    folder = staging / digest
    try:
        if _same(folder, contents):
            os.utime(folder)
        else:
            _write(contents, staging, digest)
    except OSError as error:
        raise CompileError(
            f"cannot write a bundle to {staging}: {error.strerror}",
            hint="name another folder with SPHYNX_LOCAL_ROOT",
        ) from error
    return BundleRef(folder, digest)


def _write(contents: Contents, staging: Path, digest: str) -> None:
    mark = secrets.token_hex(6)
    fresh = staging / f"entry-{digest}-{mark}"
    fresh.mkdir(parents=True)
    for name, content in contents.files.items():
        path = fresh / TREE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (fresh / MANIFEST).write_text(manifest_text(contents.manifest), "utf-8")
    _move_into_place(fresh, staging / digest, staging / f"retired-{digest}-{mark}", contents)


def _move_into_place(fresh: Path, folder: Path, retired: Path, contents: Contents) -> None:
    try:
        fresh.rename(folder)
        return
    except OSError:
        if _same(folder, contents):
            shutil.rmtree(fresh, ignore_errors=True)
            return
    folder.rename(retired)
    fresh.rename(folder)
    shutil.rmtree(retired, ignore_errors=True)


def _same(folder: Path, contents: Contents) -> bool:
    try:
        if (folder / MANIFEST).read_text("utf-8") != manifest_text(contents.manifest):
            return False
        return all((folder / TREE / name).read_bytes() == content for name, content in contents.files.items())
    except OSError:
        return False


def _digest(manifest: dict[str, Any], files: dict[str, bytes]) -> str:
    told = hashlib.sha256()
    for part in (manifest_text(manifest), *(part for item in sorted(files.items()) for part in item)):
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        told.update(len(data).to_bytes(8, "big") + data)
    return told.hexdigest()[:32]


def manifest_text(manifest: dict[str, Any]) -> str:
    """``bundle.json`` as it is written."""
    return json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _dynamic(found: Closure, cwd: Path) -> list[str]:
    return [
        f"{shown_path(file, cwd)}:{line}: an import by a name known only when it runs may fail in a check"
        for file, line in sorted(found.dynamic)
    ]


def _missing(modules: Iterable[str], file: Path, cwd: Path) -> list[str]:
    return [
        f"{shown_path(file, cwd)}: {name} is neither in the project nor in an installed package"
        for name in modules
    ]
