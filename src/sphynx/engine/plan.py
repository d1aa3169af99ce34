"""Plan a local run: compile, choose cases and variants, check limits and needs. Nothing is started."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from sphynx.compiler import compile_files
from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.compiler.project import project_root
from sphynx.engine.agents import choose_versions, with_logins
from sphynx.engine.batch_folder import new_batch_id
from sphynx.engine.options import (
    MAX_JOBS,
    MAX_TRIALS_PER_BATCH,
    MAX_TRIALS_PER_RUN,
    LocalOptions,
    LocalPlan,
    Need,
    PlannedSuite,
)
from sphynx.engine.people import needs_of_case
from sphynx.engine.secret_names import check_names
from sphynx.engine.splitting import batches_of
from sphynx.errors import UsageError
from sphynx.registry import load_harness
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.suite.fields import nearest
from sphynx.suite.labels import select_variants
from sphynx.suite.suites import counted


def plan_local(paths: Sequence[str | os.PathLike[str]], options: LocalOptions) -> LocalPlan:
    """What would run: every suite of ``paths`` (files or folders; none: all below ``options.cwd``).

    Raises ``DefinitionError`` or ``CompileError`` for what is wrong with the files, ``UsageError`` when
    nothing matches or a limit is passed. Missing variables do not raise: they are in ``needs``.
    """
    compiled = compile_files(paths, cwd=options.cwd, staging=local_root(options).staging)
    return plan_suites(compiled, options)


def plan_suites(compiled: Sequence[CompiledSuite], options: LocalOptions) -> LocalPlan:
    """Plan suites that are already compiled."""
    check_options(options)
    notes = [warning for suite in compiled for warning in suite.warnings]
    chosen = [(suite, choose_cases(suite, options.cases)) for suite in compiled]
    chosen = [(suite, cases) for suite, cases in chosen if cases]
    _check_cases(compiled, options.cases)
    planned = []
    for suite, cases in chosen:
        variants = choose_variants(suite, options.variants, notes)
        trials = options.trials or suite.suite.trials
        root = project_root(suite.path, options.cwd)
        planned.append(PlannedSuite(suite, cases, variants, trials, new_batch_id(), root))
    planned = [batch for suite in planned for batch in batches_of(suite)]
    check_limits(planned)
    check_names(planned, options.env)
    choose_versions(planned, options.harness_versions)
    options = with_logins(planned, options, notes)
    plan = LocalPlan(planned, options, list(dict.fromkeys(notes)))
    plan.needs = needs_of(planned, options)
    return plan


def local_root(options: LocalOptions) -> LocalRoot:
    """The folder local runs keep their files in: ``SPHYNX_LOCAL_ROOT`` or ``~/.sphynx/local``."""
    return LocalRoot(environ=options.env)


def check_options(options: LocalOptions) -> None:
    """Numbers that make no sense are a ``UsageError``."""
    if not 1 <= options.jobs <= MAX_JOBS:
        raise UsageError(f"--jobs must be 1 to {MAX_JOBS}, not {options.jobs}")
    if options.trials is not None and not 1 <= options.trials <= MAX_TRIALS_PER_RUN:
        raise UsageError(f"--trials must be 1 to {MAX_TRIALS_PER_RUN}, not {options.trials}")
    if options.timeout_s is not None and options.timeout_s <= 0:
        raise UsageError(f"--timeout must be more than 0 seconds, not {options.timeout_s:g}")


def choose_cases(suite: CompiledSuite, wanted: Sequence[str]) -> list[CompiledCase]:
    """The wanted cases in the file's order; all when none is named."""
    return [case for case in suite.cases if not wanted or case.case.id in wanted]


def _check_cases(compiled: Sequence[CompiledSuite], wanted: Sequence[str]) -> None:
    """``UsageError`` for names no suite has: a case that is quietly left out would look like a pass."""
    ids = list(dict.fromkeys(case.case.id for suite in compiled for case in suite.cases))
    unknown = [name for name in dict.fromkeys(wanted) if name not in ids]
    if not unknown:
        return
    files = list(dict.fromkeys(suite.file for suite in compiled))
    where = files[0] if len(files) == 1 else f"{len(files)} files"
    named = " or ".join(f'"{case}"' for case in unknown)
    near = nearest(unknown[0], ids) if len(unknown) == 1 else None
    hint = f'did you mean "{near}"?' if near else f"there are: {', '.join(ids)}"
    raise UsageError(f"no case {named} in {where}", hint=hint, issues=ids)


def choose_variants(suite: CompiledSuite, wanted: Sequence[str], notes: list[str]) -> list[CompiledVariant]:
    """The wanted variants in the file's order. Those that differ only in sandbox run once here."""
    places: Iterable[int] = range(len(suite.variants))
    if wanted:
        places = select_variants(list(wanted), [v.variant for v in suite.variants], suite.file)
    by_label: dict[str, CompiledVariant] = {}
    for place in places:
        variant = suite.variants[place]
        if variant.label in by_label:
            notes.append(
                f"{suite.file}: {variant.label} is listed for several sandboxes; on this machine it runs once"
            )
        by_label.setdefault(variant.label, variant)
    return list(by_label.values())


def check_limits(planned: Sequence[PlannedSuite]) -> None:
    """At most 100 trials a batch and 10 a run."""
    for suite in planned:
        if suite.total > MAX_TRIALS_PER_BATCH:
            parts = (
                f"{counted(len(suite.cases), 'case')} x {counted(len(suite.variants), 'variant')}"
                f" x {counted(suite.trials, 'trial')}"
            )
            raise UsageError(
                f'{suite.compiled.file}: suite "{suite.compiled.suite.id}" asks for {suite.total} trials'
                f" ({parts}), at most {MAX_TRIALS_PER_BATCH} are allowed in a batch",
                hint="choose fewer with --case, --variant or --trials",
            )


def needs_of(planned: Sequence[PlannedSuite], options: LocalOptions) -> list[Need]:
    """Variables that the chosen variants' profiles and harnesses and the models of people want, each once."""
    needs: dict[str, Need] = {}
    for suite in planned:
        for need in (need for case in suite.cases for need in needs_of_case(case.case, options.env)):
            needs.setdefault(need.name, need)
        for variant in suite.variants:
            for need in _variant_needs(suite.compiled, variant, options):
                needs.setdefault(need.name, need)
    return list(needs.values())


def _variant_needs(suite: CompiledSuite, variant: CompiledVariant, options: LocalOptions) -> Iterable[Need]:
    harness = known_harness(suite, variant)
    if variant.profile is not None:
        why = f'profile "{variant.profile.name}" names it'
        for name in variant.profile.variables:
            yield Need(name, name in options.env, why)
    for need in getattr(harness, "needs", lambda variant, env: ())(variant.variant, options.env):
        yield Need(**need)


def known_harness(suite: CompiledSuite, variant: CompiledVariant) -> Any:
    """The factory of a variant's harness; ``UsageError`` naming the file when it cannot run here."""
    try:
        return load_harness(variant.variant.harness)
    except UsageError as error:
        raise UsageError(f"{suite.file}: {error.message}", hint=error.hint) from None
