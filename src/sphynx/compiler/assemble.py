"""Put one suite of a loaded file together: prompts filled in, profiles read, identities made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sphynx.compiler.bundle import Contents
from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.compiler.definition import hash_of
from sphynx.compiler.load import Loaded, shown_path
from sphynx.compiler.profiles import Profile
from sphynx.compiler.profiles import collect as collect_profile
from sphynx.compiler.project import absolute
from sphynx.compiler.skill_profiles import collect_skill
from sphynx.compiler.stray_files import told
from sphynx.errors import CompileError, Problem
from sphynx.suite.cases import Case
from sphynx.suite.placeholders import render
from sphynx.suite.sources import Repo, Source, is_path
from sphynx.suite.suites import Suite
from sphynx.suite.variants import Variant


def needs_python(suite: Suite) -> bool:
    """Whether a trial of this suite runs the file's code: checks, ``prepare``, solution, mocks, harness."""
    if suite.mocks or any(case.prepare or case.checks or callable(case.solution) for case in suite.cases):
        return True
    return any(variant.function for variant in suite.variants)


def all_problems(suite: Suite, base: Path) -> Iterator[Problem]:
    """What is wrong with a suite, its profiles (read from ``base``, the eval file's folder) included."""
    yield from suite.problems()
    yield from _missing_folders(suite, base)
    tried: set[tuple[str, str, str]] = set()
    for variant in suite.variants:
        if variant.profile is None or any(variant.problems("")):
            continue
        named = (variant.profile["dir"], variant.profile["name"], variant.harness)
        if named in tried:
            continue
        tried.add(named)
        try:
            _profile(variant, base)
        except CompileError as error:
            where = f'suite "{suite.id}"'
            for message in error.issues or (error.message,):
                yield Problem(message, where=where, file=variant.file, line=variant.line, hint=error.hint)


def repeated_ids(suites: Sequence[Suite]) -> Iterator[Problem]:
    """Suites of one file that answer to the same id: nobody could tell their batches apart."""
    first: dict[str, Suite] = {}
    for suite in suites:
        earlier = first.setdefault(suite.id, suite)
        if suite.id and earlier is not suite:
            yield Problem(
                f"the suite in line {earlier.line} has the same id",
                where=f'suite "{suite.id}"',
                file=suite.file,
                line=suite.line,
                hint="give each suite of a file an id of its own",
            )


def _missing_folders(suite: Suite, base: Path) -> Iterator[Problem]:
    """Sources that are folders of this machine and not there: found before an agent is paid."""
    given = [(suite.source, f'suite "{suite.id}"', suite.line)]
    given += [(case.source, f'suite "{suite.id}", case "{case.id}"', case.line) for case in suite.cases]
    for source, where, line in given:
        if not isinstance(source, Repo) or source.faults or not is_path(source.url):
            continue
        path = absolute(Path(source.url).expanduser(), base)
        if path.exists():
            continue
        plain, at, ref = source.url.rpartition("@")
        hint = f"it is looked for beside the eval file, at {path}"
        if at and absolute(Path(plain).expanduser(), base).is_dir():
            hint = f'a path takes its ref apart: repo("{plain}", ref="{ref}")'
        message = f'source: there is no "{source.url}" to clone'
        yield Problem(message, where=where, file=suite.file, line=line, hint=hint)


def assemble(loaded: Loaded, index: int, suite: Suite, contents: Contents | None, cwd: Path) -> CompiledSuite:
    """One suite in which nothing is wrong. ``contents`` is the file's bundle, which is not written here."""
    path = loaded.layout.path
    file = shown_path(path, cwd)
    needed = contents if contents and needs_python(suite) else None
    warnings = [*loaded.warnings, *(contents.warnings if contents else ())]
    warnings += [f"{file}: {problem.where}: {problem.message}" for problem in suite.warnings()]
    variants: list[CompiledVariant] = []
    for variant in suite.variants:
        profile = _profile(variant, path.parent)
        if profile and profile.skipped:
            left_out = ", ".join(profile.skipped)
            what = "left out" if variant.profile and variant.profile.get("skill") else "binary files left out"
            warnings.append(f'{file}: profile "{profile.name}": {what}: {left_out}')
        if profile and profile.stray and variant.profile:
            said = told(profile.stray, variant.profile["dir"], command=profile.run is not None)
            warnings.append(f'{file}: profile "{profile.name}": {said}')
        variants.append(CompiledVariant(variant, variant.label, profile))
    return CompiledSuite(
        path=path,
        file=file,
        index=index,
        suite=suite,
        cases=tuple(_case(suite, case, needed, path.parent) for case in suite.cases),
        variants=tuple(variants),
        bundle=None,
        warnings=tuple(dict.fromkeys(warnings)),
        contents=needed,
    )


def _case(suite: Suite, case: Case, contents: Contents | None, base: Path) -> CompiledCase:
    prompt = render(suite.prompt, case.variables)[0]
    source = _placed(suite.source_of(case), base)
    return CompiledCase(case, prompt, source, hash_of(suite, case, prompt, contents))


def _placed(source: Source, base: Path) -> Source:
    """A repository named by a relative path is meant from the eval file's folder."""
    if isinstance(source, Repo) and source.local:
        return Repo(str(absolute(Path(source.url).expanduser(), base)), source.ref)
    return source


def _profile(variant: Variant, base: Path) -> Profile | None:
    if variant.profile is None:
        return None
    given = variant.profile
    if given.get("skill"):
        return collect_skill(given, base=base, harness=variant.harness)
    return collect_profile(given["dir"], name=given["name"], base=base, harness=variant.harness)
