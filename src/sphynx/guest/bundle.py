"""Import an eval file from its unpacked bundle and find what it declares."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from sphynx.errors import CompileError, UsageError
from sphynx.guest import frames
from sphynx.suite.cases import Case
from sphynx.suite.suites import Suite

IMPORT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")
EVAL_FILE = "_eval.py"


class LoadedBundle:
    """An imported eval file: ``suites`` in source order, ``tree`` the folder its paths are relative to."""

    __slots__ = ("entry", "folder", "module", "suites", "tree")

    def __init__(self, folder: str, tree: str, entry: str, module: ModuleType, suites: list[Suite]) -> None:
        self.folder = folder
        self.tree = tree
        self.entry = entry
        self.module = module
        self.suites = suites

    def case(self, suite: int, case_id: str) -> Case:
        """The case ``case_id`` of the suite at position ``suite``; ``UsageError`` says what there is."""
        if not 0 <= suite < len(self.suites):
            raise UsageError(f"{self.entry} has {len(self.suites)} suites, there is no number {suite}")
        for case in self.suites[suite].cases:
            if case.id == case_id:
                return case
        raise UsageError(f'{self.entry}: suite number {suite} has no case "{case_id}"')


def minimal_environment(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """The environment an eval file is imported with inside a sandbox: never the trial's own.

    What a module reads while it is imported would be the first trial's for all that share a warm process;
    ``folder`` (an empty one) stands in for the home and the temporary folder.
    """
    kept = {name: environ[name] for name in IMPORT_VARIABLES if name in environ}
    return {**kept, "HOME": folder, "TMPDIR": folder}


def load(folder: str) -> LoadedBundle:
    """Import the eval file of the bundle at ``folder``. The current folder and environment are the caller's
    business.

    Raises ``CompileError`` naming the author's own file and line when the import fails.
    """
    folder = os.path.realpath(folder)
    tree = os.path.join(folder, "tree")
    described = _described(folder)
    roots = [os.path.normpath(os.path.join(tree, root)) for root in described["roots"]]
    sys.path[:0] = [root for root in roots if root not in sys.path]
    entry = described["entry"]
    try:
        module = _imported(described["module"], os.path.join(tree, entry))
    except (Exception, SystemExit) as error:
        raise _import_failure(error, tree, entry) from error
    suites = suites_of(module)
    _preload(suites)
    return LoadedBundle(folder, tree, entry, module, suites)


def load_apart(folder: str) -> LoadedBundle:
    """Like :func:`load`, in an empty folder and without the trial's environment, as a warm guest does it."""
    import tempfile

    folder = os.path.abspath(folder)
    environ, before = dict(os.environ), os.getcwd()
    with tempfile.TemporaryDirectory(prefix="sphynx-import-") as empty:
        os.chdir(empty)
        os.environ.clear()
        os.environ.update(minimal_environment(environ, empty))
        try:
            return load(folder)
        finally:
            os.environ.clear()
            os.environ.update(environ)
            os.chdir(before)


def suites_of(module: ModuleType) -> list[Suite]:
    """The suites an eval module declares, in source order.

    Those are the ``Suite`` objects bound to its module-level names, each once, at the place of the first name
    bound to it. A suite that another eval file owns (``from other_eval import smoke``) is that file's; one
    that a function of another module built and returned counts.
    """
    here = _file(module)
    found: list[Suite] = []
    for value in list(vars(module).values()):
        if (
            isinstance(value, Suite)
            and not any(value is known for known in found)
            and not _owned_elsewhere(value, here)
        ):
            found.append(value)
    return found


def _owned_elsewhere(suite: Suite, here: str) -> bool:
    """Whether another loaded eval file made this suite for itself."""
    made_in = os.path.realpath(suite.file) if suite.file else here
    if made_in == here or not made_in.endswith(EVAL_FILE):
        return False
    owners = [module for module in list(sys.modules.values()) if _file(module) == made_in]
    return not owners or any(value is suite for owner in owners for value in list(vars(owner).values()))


def _file(module: Any) -> str:
    name = getattr(module, "__file__", None)
    return os.path.realpath(name) if isinstance(name, str) and name else ""


def _described(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, "bundle.json")
    try:
        with open(path, encoding="utf-8") as source:
            described = json.load(source)
    except (OSError, ValueError) as error:
        raise CompileError(
            f"{path}: the bundle's description cannot be read: {frames.one_line(error)}"
        ) from None
    if described.get("format") != 1:
        raise CompileError(
            f"{path}: bundle format {described.get('format')} is not known here",
            hint="use the same version of sphynx-sh on both sides",
        )
    return described


def _imported(name: str, path: str) -> ModuleType:
    """The eval file as module ``name``: by name where the roots lead to it, else straight from its file."""
    import importlib
    import importlib.util

    importlib.invalidate_caches()
    found = None
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        pass  # a dotted name whose parent is no package, or a name another program has already taken
    if found is not None and found.origin and os.path.realpath(found.origin) == os.path.realpath(path):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _import_failure(error: BaseException, tree: str, entry: str) -> CompileError:
    file, line = frames.place(error, tree) or (entry, 0)
    where = f"{file}:{line}" if line else file
    return CompileError(f"{where}: {frames.one_line(error)}", hint=_remedy(error))


def _remedy(error: BaseException) -> str | None:
    """The next step for the imports that work on the author's machine and fail in a sandbox."""
    if isinstance(error, ModuleNotFoundError):
        return "inside a trial only the bundle and the installed packages can be imported"
    if isinstance(error, KeyError) and _raised_in(error, "os"):
        return f"variables are not there while an eval file is imported: read {error.args[0]} in the function"
    if isinstance(error, FileNotFoundError):
        return "name the file in the suite's include=[...] and find it from Path(__file__)"
    return None


def _raised_in(error: BaseException, module: str) -> bool:
    """Whether the innermost frame of the error is in ``module`` (the interpreter may have it frozen)."""
    step, name = error.__traceback__, None
    while step is not None:
        name = step.tb_frame.f_globals.get("__name__")
        step = step.tb_next
    return name == module


def _preload(suites: Sequence[Suite]) -> None:
    """Import what every op needs, so that a process forked from this one need not."""
    import asyncio
    import inspect
    import selectors
    import subprocess
    import traceback

    del asyncio, inspect, selectors, subprocess, traceback
    mocked = [suite for suite in suites if suite.mocks and not suite.problems()]
    if mocked:
        from sphynx.guest.mocks.serving import warm

        for suite in mocked:
            warm(suite)
