"""Compile eval files: load them, collect every problem, and make what the engine runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sphynx.compiler import bundle, discovery
from sphynx.compiler.assemble import all_problems, assemble, needs_python, repeated_ids
from sphynx.compiler.compiled import CompiledSuite
from sphynx.compiler.load import Loaded, load, shown_path
from sphynx.compiler.project import absolute
from sphynx.errors import CompileError, DefinitionError, Problem
from sphynx.suite.suites import Suite

if TYPE_CHECKING:
    from sphynx.schema.wire import SuiteBatchRequest  # 150 ms that a local run does not need


def compile_files(
    paths: Sequence[str | os.PathLike[str]], *, cwd: Path, staging: Path
) -> list[CompiledSuite]:
    """Compile every suite of ``paths`` (files or folders; none: everything below ``cwd``), in order.

    Bundles are unpacked below ``staging``. Nothing is returned or written when anything is wrong:
    ``DefinitionError`` lists every problem of every file; a ``CompileError`` that is the only problem is
    raised as it is.
    """
    cwd = absolute(cwd)
    suites = _compile(discovery.find(cwd, paths), cwd)
    written = {made.digest: bundle.write(made, staging) for suite in suites if (made := suite.contents)}
    suites = [
        replace(suite, bundle=written[suite.contents.digest]) if suite.contents else suite for suite in suites
    ]
    return _with_repeats_named(suites)


def compile_eval(path: str | os.PathLike[str]) -> list[SuiteBatchRequest]:
    """The requests that start the suites of one eval file on a server, in source order.

    ``DefinitionError`` or ``CompileError`` says what is wrong, ``UsageError`` when there is no such file.
    """
    cwd = Path.cwd()
    return [suite.request for suite in _compile(discovery.find(cwd, [path]), cwd)]


def compile_definition(suite: Suite) -> SuiteBatchRequest:
    """The request that starts ``suite``, an object this program imported or made.

    When its cases have Python functions, the file it stands in is imported once more, apart from this
    program: the suite must be at its top level, because a sandbox finds it there. Errors as ``compile_eval``.
    """
    cwd = Path.cwd()
    path = _home_of(suite)
    found = _Findings(cwd)
    found.problems += [_shown(problem, path, cwd) for problem in all_problems(suite, path.parent)]
    found.finish()
    loaded = load(path, cwd=cwd) if needs_python(suite) else Loaded.without_import(path, cwd)
    found.problems += [_shown(problem, path, cwd) for problem in repeated_ids(loaded.suites)]
    found.finish()
    index = 0
    if needs_python(suite):
        ids = [other.id for other in loaded.suites]
        if suite.id not in ids:
            raise CompileError(
                f'{shown_path(path, cwd)}: suite "{suite.id}" is not at the top level of the file',
                hint="assign it to a module-level name: a sandbox imports the file and finds it there",
            )
        index = ids.index(suite.id)
    contents = bundle.collect(loaded, suite.include, cwd) if needs_python(suite) else None
    return assemble(loaded, index, suite, contents, cwd).request


def _compile(files: Sequence[Path], cwd: Path) -> list[CompiledSuite]:
    """Every suite of ``files``, no bundle written yet, or everything that is wrong with them."""
    found = _Findings(cwd)
    suites = [suite for path in files for suite in found.compile_file(path)]
    found.finish()
    return suites


class _Findings:
    """Everything that is wrong with the files of one command."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.problems: list[Problem] = []
        self.errors: list[CompileError] = []

    def compile_file(self, path: Path) -> list[CompiledSuite]:
        """The suites of one file, none when something is wrong."""
        try:
            loaded = load(path, cwd=self.cwd)
        except CompileError as error:
            self._add(error, "")
            return []
        shown = shown_path(path, self.cwd)
        if not loaded.suites:
            hint = "assign suite(...) to a name at the top level of the file"
            self.problems.append(Problem("no suite in this file", file=shown, hint=hint))
        wrong = [problem for suite in loaded.suites for problem in all_problems(suite, path.parent)]
        wrong += repeated_ids(loaded.suites)
        if wrong:
            self.problems += [_shown(problem, path, self.cwd) for problem in wrong]
            return []
        try:
            contents = self._contents(loaded)
            return [
                assemble(loaded, index, suite, contents, self.cwd)
                for index, suite in enumerate(loaded.suites)
            ]
        except CompileError as error:
            self._add(error, shown)
            return []

    def finish(self) -> None:
        """Raise what was found, if anything was."""
        if len(self.problems) == 1 and len(self.errors) == 1:
            raise self.errors[0]
        if self.problems:
            raise DefinitionError(self.problems)

    def _contents(self, loaded: Loaded) -> bundle.Contents | None:
        """One bundle for the whole file, when any of its suites runs code of it in a trial."""
        if not any(needs_python(suite) for suite in loaded.suites):
            return None
        patterns = [pattern for suite in loaded.suites for pattern in suite.include]
        return bundle.collect(loaded, dict.fromkeys(patterns), self.cwd)

    def _add(self, error: CompileError, shown: str) -> None:
        problem = Problem(error.message, file=shown, hint=error.hint)
        self.problems.append(problem)
        self.errors.append(CompileError(problem.text(), hint=error.hint, tag=error.tag))


def _shown(problem: Problem, path: Path, cwd: Path) -> Problem:
    file = shown_path(Path(problem.file) if problem.file else path, cwd)
    return Problem(problem.message, where=problem.where, file=file, line=problem.line, hint=problem.hint)


def _home_of(suite: Suite) -> Path:
    """The file a suite can be found in again: where it was made, else an eval file that holds it."""
    holders = [
        Path(file)
        for module in list(sys.modules.values())
        if (file := getattr(module, "__file__", None))
        and any(value is suite for value in list(vars(module).values()))
    ]
    made_in = Path(suite.file)
    if made_in in holders or not holders:
        return made_in
    return next((path for path in holders if path.name.endswith(discovery.SUFFIX)), holders[0])


def _with_repeats_named(suites: list[CompiledSuite]) -> list[CompiledSuite]:
    """Add a warning where two suites use the same case id: a server keeps one history for both."""
    seen: dict[str, str] = {}
    out: list[CompiledSuite] = []
    for suite in suites:
        notes = [
            f'{suite.file}: case "{item.case.id}" also stands in {seen[item.case.id]}: '
            "on a server both share one history"
            for item in suite.cases
            if item.case.id in seen
        ]
        for item in suite.cases:
            seen.setdefault(item.case.id, suite.file)
        out.append(replace(suite, warnings=(*suite.warnings, *notes)) if notes else suite)
    return out
