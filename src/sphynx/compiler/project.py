"""Where an eval file stands: its project root, its module name, and the import roots it is loaded with."""

from __future__ import annotations

import os
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sphynx.errors import CompileError

FOREIGN = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True, slots=True)
class Layout:
    """How one eval file is imported.

    ``module`` is its dotted name below ``base``, the first folder upwards without an ``__init__.py``.
    ``roots`` are the folders put in front of ``sys.path``, in order, all of them inside ``root``.
    """

    path: Path
    root: Path
    base: Path
    module: str
    roots: tuple[Path, ...]

    @property
    def entry(self) -> str:
        """The eval file's place, relative to the project root, with forward slashes."""
        return self.path.relative_to(self.root).as_posix()


def absolute(path: str | os.PathLike[str], start: Path | None = None) -> Path:
    """``path`` from ``start`` (the working folder when not given), without dots; links stay as they are."""
    return Path(os.path.normpath((start or Path.cwd()) / path))


def project_root(file: Path, cwd: Path) -> Path:
    """The nearest folder above ``file`` with a ``pyproject.toml``, else with ``.git``, else ``cwd``.

    A file that is not below ``cwd`` and in no project is its own folder's project.
    """
    for marker in ("pyproject.toml", ".git"):
        for folder in file.parents:
            if (folder / marker).exists():
                return folder
    return cwd if file.is_relative_to(cwd) else package_base(file)


def package_base(file: Path) -> Path:
    """The first folder above ``file`` that holds no ``__init__.py``: where its imports start."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def layout(file: Path, root: Path) -> Layout:
    """How to import ``file``: from its folder (or its package's), ``src/`` and the project root.

    Folders that the project's pytest settings (``pythonpath``) or the interpreter's own path add inside the
    project come after them. ``CompileError`` for a file name that cannot be imported.
    """
    base = package_base(file)
    if not base.is_relative_to(root):
        base = file.parent
    name = ".".join(file.relative_to(base).with_suffix("").parts)
    if "." in file.stem:
        raise CompileError(
            f"{file.name}: a file name with a dot in it cannot be imported", hint="rename the file"
        )
    wanted = [base, root / "src", *_pytest_path(root), root, *_interpreter_path(root)]
    roots = tuple(dict.fromkeys(path for path in wanted if path.is_dir()))
    return Layout(file, root, base, name, roots)


def is_local(path: str | Path, root: Path) -> bool:
    """Whether a file is the project's own: below ``root`` and neither installed nor Python's."""
    text, top = os.path.normpath(path), str(root)
    if not _inside(text, top) or not FOREIGN.isdisjoint(text.split("/")):
        return False
    return not any(_inside(text, folder) for folder in python_folders() if not _inside(top, folder))


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


@cache
def python_folders() -> tuple[str, ...]:
    """Python's own folders, the virtual environment and this package: never part of a project."""
    names = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    if sys.prefix != sys.base_prefix:
        names.append(sys.prefix)
    return (*dict.fromkeys(name for name in names if name), str(Path(__file__).parent.parent))


def _pytest_path(root: Path) -> list[Path]:
    try:
        settings: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return []
    tool = settings.get("tool")
    pytest = tool.get("pytest") if isinstance(tool, dict) else None
    if not isinstance(pytest, dict):
        return []
    ini = pytest.get("ini_options", pytest)
    value = ini.get("pythonpath", []) if isinstance(ini, dict) else []
    names = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    paths = [absolute(str(name), root) for name in names]
    return [path for path in paths if path.is_relative_to(root)]


def _interpreter_path(root: Path) -> list[Path]:
    paths = [absolute(entry) for entry in sys.path if entry]
    return [path for path in paths if path.is_dir() and is_local(path, root)]
