"""Compile eval files: load them, collect every problem, and make what the engine runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sphynx.compiler import bundle, discovery
from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.compiler.load import Loaded, load, shown_path
from sphynx.compiler.profiles import Profile
from sphynx.compiler.profiles import collect as collect_profile
from sphynx.compiler.project import absolute
from sphynx.contracts import BundleRef
from sphynx.errors import CompileError, DefinitionError, Problem, SphynxError
from sphynx.schema.definition import definition_hash
from sphynx.suite.cases import Case
from sphynx.suite.checks import COMMAND_TIMEOUT_MS, VALIDATOR_TIMEOUT_MS
from sphynx.suite.placeholders import render
from sphynx.suite.sources import Repo, Source
from sphynx.suite.suites import Suite
from sphynx.suite.variants import Variant


def compile_files(
    paths: Sequence[str | os.PathLike[str]], *, cwd: Path, staging: Path
) -> list[CompiledSuite]:
    """Compile every suite of ``paths`` (files or folders; none: everything below ``cwd``), in order.

    Bundles are unpacked below ``staging``. Nothing is returned when anything is wrong: ``DefinitionError``
    lists every problem of every file, ``CompileError`` stands alone when it is the only one.
    """
    cwd = absolute(cwd)
    files = discovery.find(cwd, paths)
    found = _Findings(cwd)
    suites: list[CompiledSuite] = []
    for path in files:
        suites += found.compile_file(path, staging)
    found.finish()
    return _with_repeats_named(suites)


class _Findings:
    """Everything that is wrong with the files of one command."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.problems: list[Problem] = []
        self.errors: list[SphynxError] = []

    def compile_file(self, path: Path, staging: Path) -> list[CompiledSuite]:
        try:
            loaded = load(path, cwd=self.cwd)
        except CompileError as error:
            self.add_error(error)
            return []
        if not loaded.suites:
            self.problems.append(
                Problem(
                    "no suite in this file",
                    file=shown_path(path, self.cwd),
                    hint="assign suite(...) to a name at the top level of the file",
                )
            )
            return []
        return self.compile_loaded(loaded, staging)

    def compile_loaded(self, loaded: Loaded, staging: Path) -> list[CompiledSuite]:
        path = loaded.layout.path
        wrong = [problem for suite in loaded.suites for problem in suite.problems()]
        if wrong:
            self.problems += [self._shown(problem, path) for problem in wrong]
            return []
        out: list[CompiledSuite] = []
        try:
            contents = self.contents(loaded)
            ref = bundle.write(contents, staging) if contents else None
        except CompileError as error:
            self.add_error(error, path)
            return []
        for index, suite in enumerate(loaded.suites):
            try:
                out.append(compile_suite(loaded, index, suite, contents, ref, self.cwd))
            except CompileError as error:
                self.add_error(error, path, f'suite "{suite.id}"')
            except DefinitionError as error:
                self.problems += [self._shown(problem, path) for problem in error.problems]
        return out

    def contents(self, loaded: Loaded) -> bundle.Contents | None:
        """One bundle for the whole file, when any of its suites has a function that runs in a trial."""
        if not any(needs_python(suite) for suite in loaded.suites):
            return None
        patterns = [pattern for suite in loaded.suites for pattern in suite.include]
        return bundle.collect(loaded, dict.fromkeys(patterns), self.cwd)

    def add_error(self, error: CompileError, path: Path | None = None, where: str = "") -> None:
        shown = shown_path(path, self.cwd) if path else ""
        problem = Problem(error.message, file=shown, where=where, hint=error.hint)
        self.problems.append(problem)
        self.errors.append(CompileError(problem.text(), hint=error.hint, tag=error.tag))

    def finish(self) -> None:
        if len(self.problems) == 1 and len(self.errors) == 1:
            raise self.errors[0]
        if self.problems:
            raise DefinitionError(self.problems)

    def _shown(self, problem: Problem, path: Path) -> Problem:
        file = shown_path(Path(problem.file) if problem.file else path, self.cwd)
        return Problem(problem.message, where=problem.where, file=file, line=problem.line, hint=problem.hint)


def compile_suite(
    loaded: Loaded,
    index: int,
    suite: Suite,
    contents: bundle.Contents | None,
    ref: BundleRef | None,
    cwd: Path,
) -> CompiledSuite:
    """One suite whose ``problems()`` are none. ``CompileError`` when a profile cannot be collected."""
    path = loaded.layout.path
    file = shown_path(path, cwd)
    needed = contents if contents and needs_python(suite) else None
    warnings = [*loaded.warnings, *(contents.warnings if contents else ())]
    warnings += [f"{file}: {problem.where}: {problem.message}" for problem in suite.warnings()]
    variants = _variants(suite, path.parent, file, warnings)
    return CompiledSuite(
        path=path,
        file=file,
        index=index,
        suite=suite,
        cases=tuple(_case(suite, case, needed, path.parent) for case in suite.cases),
        variants=tuple(variants),
        bundle=ref if needed else None,
        warnings=tuple(dict.fromkeys(warnings)),
        contents=needed,
    )


def needs_python(suite: Suite) -> bool:
    """Whether a trial of this suite runs the file's code: checks, ``prepare``, solution, harness."""
    if any(case.prepare or case.checks or callable(case.solution) for case in suite.cases):
        return True
    return any(variant.function for variant in suite.variants)


def stored_definition(
    suite: Suite, case: Case, prompt: str, contents: bundle.Contents | None
) -> dict[str, Any]:
    """The case as ``schema.definition`` reads it; its functions stand for the files they come from."""
    code = f"python {contents.identity}" if contents else ""
    beyond: dict[str, Any] = {}
    limits = [check.timeout_ms for check in case.checks]
    if any(limit != VALIDATOR_TIMEOUT_MS for limit in limits):
        beyond["checks"] = limits
    if case.command and case.command.timeout_ms != COMMAND_TIMEOUT_MS:
        beyond["command"] = case.command.timeout_ms
    return {
        "prompt": prompt,
        "prepare": {"source": code} if case.prepare else None,
        "validator": {"source": code} if case.checks else None,
        "verify": case.command.command if case.command else None,
        "source": source_value(suite.source_of(case)),
        "user": user_value(case),
        "cache": case.cache,
        "maxTurns": case.max_turns,
        "timeoutMs": case.timeout_ms,
        "x-sphynx": beyond,
    }


def source_value(source: Source) -> dict[str, Any]:
    """A source in its wire form."""
    if source.kind == "repo":
        return {"kind": "repo", "ref": source.ref, "url": source.url}
    if source.kind == "files":
        return {"kind": "files", "files": dict(source.files)}
    return {"kind": "empty"}


def user_value(case: Case) -> dict[str, Any] | None:
    """Who speaks after the opening prompt, in its wire form."""
    return {"kind": "scripted", "replies": list(case.user.replies)} if case.user else None


def _case(suite: Suite, case: Case, contents: bundle.Contents | None, base: Path) -> CompiledCase:
    prompt = render(suite.prompt, case.variables)[0]
    definition = stored_definition(suite, case, prompt, contents)
    return CompiledCase(case, prompt, _placed(suite.source_of(case), base), definition_hash(definition))


def _placed(source: Source, base: Path) -> Source:
    """A repository named by a relative path is meant from the eval file's folder."""
    if isinstance(source, Repo) and source.local:
        return Repo(str(absolute(Path(source.url).expanduser(), base)), source.ref)
    return source


def _variants(suite: Suite, base: Path, file: str, warnings: list[str]) -> list[CompiledVariant]:
    out: list[CompiledVariant] = []
    for variant in suite.variants:
        profile = _profile(variant, base)
        if profile and profile.skipped:
            warnings.append(
                f'{file}: profile "{profile.name}": binary files left out: {", ".join(profile.skipped)}'
            )
        out.append(CompiledVariant(variant, variant.label, profile))
    return out


def _profile(variant: Variant, base: Path) -> Profile | None:
    if variant.profile is None:
        return None
    given = variant.profile
    return collect_profile(given["dir"], name=given["name"], base=base, harness=variant.harness)


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
