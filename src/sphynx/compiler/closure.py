"""Which project files an eval file needs: read from the syntax tree, together with what its import ran."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from importlib.util import resolve_name
from pathlib import Path

from sphynx.compiler.project import Layout, is_local
from sphynx.errors import CompileError

DYNAMIC = frozenset({"import_module", "__import__", "spec_from_file_location", "run_path", "run_module"})


@dataclass(slots=True)
class Closure:
    """The project files a bundle must hold.

    ``foreign`` are names imported from outside the project, ``dynamic`` the places (``file``, line) of
    imports whose target is only known when they run, ``roots`` the import roots that are really used.
    """

    files: set[Path] = field(default_factory=set[Path])
    foreign: set[str] = field(default_factory=set[str])
    dynamic: list[tuple[Path, int]] = field(default_factory=list[tuple[Path, int]])
    roots: list[Path] = field(default_factory=list[Path])


@dataclass(frozen=True, slots=True)
class _Found:
    file: Path | None
    search: tuple[str, ...]


def closure(place: Layout, ran: Mapping[str, Path]) -> Closure:
    """Everything ``place`` imports below the project root, also inside functions; ``ran`` is what really ran.

    Parents' ``__init__.py`` belong to it. ``CompileError`` names a compiled module or a link that leaves the
    project.
    """
    walk = _Walk(place)
    walk.add(place.module)
    walk.read(place.path, place.module.rpartition(".")[0])
    for name, file in sorted(ran.items()):
        walk.add_ran(name, file)
    walk.follow()
    for file in walk.out.files:
        check_travels(file, place.root)
    walk.out.roots = walk.used_roots()
    return walk.out


def check_travels(file: Path, root: Path) -> None:
    """``CompileError`` when ``file`` cannot go into a bundle: compiled, or a link that leaves the project."""
    shown = file.relative_to(root).as_posix()
    if file.name.endswith((*EXTENSION_SUFFIXES, ".pyc", ".so", ".pyd")):
        raise CompileError(
            f"{shown}: a compiled module cannot travel in a bundle",
            hint="install it as a package and import it from there",
        )
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(root)):
        raise CompileError(
            f"{shown}: is a link that leaves the project", hint="copy the file into the project"
        )


def unreadable(shown: str, error: OSError) -> CompileError:
    """A file that is there and cannot be read."""
    return CompileError(f"{shown}: cannot be read: {error.strerror}")


class _Walk:
    def __init__(self, place: Layout) -> None:
        self.place = place
        self.out = Closure()
        self.roots = [str(root) for root in place.roots]
        self.known: dict[str, _Found | None] = {}
        self.done: set[str] = set()
        self.todo: list[str] = []
        self.parsed: set[Path] = set()

    def add(self, name: str) -> None:
        parts = name.split(".")
        self.todo += [".".join(parts[: count + 1]) for count in range(len(parts))]

    def add_ran(self, name: str, file: Path) -> None:
        """A module the import really ran: its root joins the list when its name fits its place."""
        parts = name.split(".")
        tail = file.parent if file.name == "__init__.py" else file.with_suffix("")
        if list(tail.parts[-len(parts) :]) == parts:
            root = tail.parents[len(parts) - 1]
            if str(root) not in self.roots and is_local(root, self.place.root):
                self.roots.append(str(root))
            self.add(name)
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        self.read(file, package)

    def follow(self) -> None:
        while self.todo:
            name = self.todo.pop()
            if name in self.done:
                continue
            self.done.add(name)
            found = self.find(name)
            parent = name.rpartition(".")[0]
            if found is None:
                if not parent or self.find(parent) is None:
                    self.out.foreign.add(name)
            elif found.file is not None:
                self.read(found.file, name if found.search else parent)

    def find(self, name: str) -> _Found | None:
        if name not in self.known:
            self.known[name] = self._find(name)
        return self.known[name]

    def _find(self, name: str) -> _Found | None:
        parent, _, tail = name.rpartition(".")
        above = self.find(parent) if parent else None
        if parent and above is None:
            return None
        portions: list[str] = []
        for folder in above.search if above else self.roots:
            spec = _finder(folder).find_spec(tail)
            if spec is None:
                continue
            if spec.loader is None:
                portions += spec.submodule_search_locations or ()
            elif spec.origin and is_local(spec.origin, self.place.root):
                return _Found(Path(spec.origin), tuple(spec.submodule_search_locations or ()))
        local = tuple(portion for portion in portions if is_local(portion, self.place.root))
        return _Found(None, local) if local else None

    def read(self, file: Path, package: str) -> None:
        self.out.files.add(file)
        if file in self.parsed or file.suffix != ".py":
            return
        self.parsed.add(file)
        for name in _imports(_tree(file, self.place.root), package, file, self.out.dynamic):
            self.add(name)

    def used_roots(self) -> list[Path]:
        roots = [Path(root) for root in self.roots]
        return [
            root
            for root in roots
            if root == self.place.base or any(file.is_relative_to(root) for file in self.out.files)
        ]


def _finder(folder: str) -> FileFinder:
    return FileFinder(folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (SourceFileLoader, SOURCE_SUFFIXES))


def _tree(file: Path, root: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes(), str(file))
    except OSError as error:
        raise unreadable(file.relative_to(root).as_posix(), error) from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        shown = file.relative_to(root).as_posix() + (f":{line}" if line else "")
        raise CompileError(f"{shown}: {type(error).__name__}: {getattr(error, 'msg', error)}") from error


def _imports(tree: ast.Module, package: str, file: Path, dynamic: list[tuple[Path, int]]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _from_import(node, package)
        elif isinstance(node, ast.Call) and _called(node) in DYNAMIC:
            name = _literal_import(node, package)
            if name:
                yield name
            else:
                dynamic.append((file, node.lineno))


def _from_import(node: ast.ImportFrom, package: str) -> Iterator[str]:
    module = node.module or ""
    if node.level:
        try:
            module = resolve_name("." * node.level + module, package) if package else ""
        except ImportError:
            module = ""
    if module:
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names if alias.name != "*")


def _called(node: ast.Call) -> str:
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def _literal_import(node: ast.Call, package: str) -> str | None:
    first = node.args[0] if node.args else None
    if _called(node) not in {"import_module", "__import__", "run_module"} or not isinstance(
        first, ast.Constant
    ):
        return None
    name = first.value if isinstance(first.value, str) else ""
    if name.startswith("."):
        try:
            return resolve_name(name, package) if package else None
        except ImportError:
            return None
    return name or None
