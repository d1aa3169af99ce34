"""Import one eval file the way pytest users expect, and leave no trace of it in this process."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from sphynx.compiler.exiting import OutOfTime, kept_alive
from sphynx.compiler.frames import user_error
from sphynx.compiler.project import Layout, absolute, is_local, layout, project_root
from sphynx.errors import CompileError
from sphynx.guest.bundle import suites_of
from sphynx.suite.suites import Suite

SLOW_IMPORT_S = 2.0

_foreign: dict[str, ModuleType] = {}
_loading: list[Path] = []


@dataclass(slots=True)
class Loaded:
    """An eval file after its import: its suites in source order, and every project file the import ran."""

    layout: Layout
    suites: list[Suite]
    files: dict[str, Path] = field(default_factory=dict[str, Path])
    """Module name to file, for modules of the project only."""
    warnings: list[str] = field(default_factory=list[str])

    @classmethod
    def without_import(cls, path: Path, cwd: Path) -> Loaded:
        """A file whose code no trial runs: only where it stands."""
        return cls(layout(path, project_root(path, cwd)), [])


def load_suites(path: Path, root: Path | None = None) -> tuple[list[Suite], list[str]]:
    """Import ``path`` and give its module-level suites in source order, with warnings about the import.

    ``root`` is the project root (found when not given). ``sys.path``, ``sys.modules``, the environment and
    the working folder are afterwards as they were. ``CompileError`` shows the user's own frame when the
    import raises.
    """
    loaded = load(path, root)
    return loaded.suites, loaded.warnings


def load(path: Path, root: Path | None = None, *, cwd: Path | None = None) -> Loaded:
    """``load_suites``, with the layout and the project files the import ran."""
    cwd = cwd or Path.cwd()
    path = absolute(path)
    place = layout(path, root or project_root(path, cwd))
    if path in _loading:
        raise CompileError(
            f"{path.name} compiles itself while it is imported",
            hint='put the call below `if __name__ == "__main__":`',
        )
    _loading.append(path)
    try:
        with _isolated(place):
            return _run(place, cwd)
    finally:
        _loading.remove(path)


def imported_now() -> Path | None:
    """The eval file whose import goes on at this moment."""
    return _loading[-1] if _loading else None


def _run(place: Layout, cwd: Path) -> Loaded:
    threads, children, started = _threads(), _children(), time.monotonic()
    try:
        with contextlib.redirect_stdout(sys.stderr), kept_alive():
            module = importlib.import_module(place.module)
    except (KeyboardInterrupt, OutOfTime):
        raise
    except BaseException as error:
        raise user_error(error, place, cwd) from error
    if not _is_from(module, place.path):
        raise CompileError(
            f'{shown_path(place.path, cwd)}: the name "{place.module}" is taken by another module',
            hint="rename the file",
        )
    loaded = Loaded(place, [])
    took = time.monotonic() - started
    shown = shown_path(place.path, cwd)
    if took > SLOW_IMPORT_S:
        loaded.warnings.append(
            f"{shown}: its import took {took:.1f} s, and every trial's checks import it again"
        )
    if _threads() > threads:
        loaded.warnings.append(
            f"{shown}: its import started a thread, so each trial's checks start a fresh Python"
        )
    if _children() - children:
        loaded.warnings.append(
            f"{shown}: its import started a process, so each trial's checks start a fresh Python"
        )
    loaded.suites = suites_of(module)
    for name, other in list(sys.modules.items()):
        file = getattr(other, "__file__", None)
        if file and name != "__main__" and is_local(file, place.root):
            loaded.files[name] = Path(os.path.normpath(file))
    return loaded


def _is_from(module: ModuleType, path: Path) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and os.path.realpath(file) == os.path.realpath(path)


def shown_path(path: Path, cwd: Path) -> str:
    """``path`` as a person standing in ``cwd`` would write it."""
    return path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else str(path)


@contextlib.contextmanager
def _isolated(place: Layout) -> Iterator[None]:
    path, environ, cwd = list(sys.path), dict(os.environ), _current_folder()
    bytecode = sys.dont_write_bytecode
    before = dict(sys.modules)
    names = _own_names(place)
    for name, module in before.items():
        if _is_the_projects(name, module, place, names):
            del sys.modules[name]
    for name, module in _foreign.items():
        if not _is_the_projects(name, module, place, names):
            sys.modules.setdefault(name, module)
    roots = [str(root) for root in place.roots]
    sys.path[:] = [*roots, *(entry for entry in path if entry not in roots)]
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.dont_write_bytecode = bytecode
        sys.path[:] = path
        _restore_modules(before, place, names)
        _restore_environment(environ)
        if cwd and _current_folder() != cwd:
            os.chdir(cwd)


def _is_the_projects(name: str, module: ModuleType | None, place: Layout, names: frozenset[str]) -> bool:
    """Whether an imported module must give way: it is the project's, or hides one of the project's."""
    if name == "__main__":
        return False
    file = getattr(module, "__file__", None)
    if file:
        if is_local(file, place.root):
            return True
    elif any(is_local(folder, place.root) for folder in _search_path(module)):
        return True
    return name.partition(".")[0] in names


def _own_names(place: Layout) -> frozenset[str]:
    """Top-level modules and packages the roots hold, without names that Python itself has already taken."""
    names: set[str] = set()
    for root in place.roots:
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    names.add(entry.name[:-3])
                elif Path(entry.path, "__init__.py").is_file():
                    names.add(entry.name)
    return frozenset(names - sys.stdlib_module_names - {"sphynx"})


def _search_path(module: ModuleType | None) -> list[str]:
    try:
        return [str(folder) for folder in getattr(module, "__path__", None) or ()]
    except (KeyError, TypeError):
        return []


def _restore_modules(before: dict[str, ModuleType], place: Layout, names: frozenset[str]) -> None:
    """Put ``sys.modules`` back, but keep what must not be imported twice.

    The standard library and packages with compiled parts (numpy refuses a second copy) stay. Other installed
    packages leave ``sys.modules`` and are kept aside for the next eval file, so that they load once.
    """
    fresh = {name: module for name, module in sys.modules.items() if before.get(name) is not module}
    compiled = {name.partition(".")[0] for name, module in fresh.items() if _is_compiled(module)}
    for name, module in fresh.items():
        if not _is_the_projects(name, module, place, names):
            top = name.partition(".")[0]
            if top in sys.stdlib_module_names or top == "sphynx" or top in compiled:
                continue
            _foreign[name] = module
        del sys.modules[name]
    sys.modules.update(before)


def _is_compiled(module: ModuleType) -> bool:
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return type(loader).__name__ in {"ExtensionFileLoader", "BuiltinImporter"}


def _restore_environment(environ: dict[str, str]) -> None:
    for name in [name for name in os.environ if name not in environ]:
        del os.environ[name]
    for name, value in environ.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None


def _threads() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return threading.active_count()


def _children() -> set[str]:
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                found.update((task / "children").read_text().split())
    return found
