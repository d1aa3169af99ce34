"""What a start is refused for beyond its form (contract, section 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from sphynx.schema.utf16 import length
from sphynx.schema.wire import (
    EvalCase,
    EvalVariantRequest,
    HarnessProfile,
    JudgedValidator,
    SuiteBatchRequest,
)
from sphynx.server.refusals import Refusal, bad_request, conflict
from sphynx.settings.names import profile_problem

MAX_TRIALS = 100
MAX_RUNNING = 3
MAX_CHECKS = 20
MAX_FILES = 256
MAX_CHARS = 2_000_000
MAX_CHOICES = 20


def check(request: SuiteBatchRequest) -> None:
    """Raise ``Refusal`` for the first rule a request breaks, whoever runs it."""
    for message in (
        *_variants(request),
        *_size(request),
        *(fault for variant in request.variants for fault in _profile(variant)),
        *_case_ids(request),
        *(fault for case in request.cases for fault in _case(case)),
    ):
        raise bad_request(message)


def check_sandboxes(request: SuiteBatchRequest, available: list[str], default: str | None = None) -> str:
    """Every named sandbox is one this server has; ``local`` only where it is allowed.

    Gives the sandbox of variants that name none: ``default``, which has to be there too, else the first.
    """
    for variant in request.variants:
        if "sandbox" in variant.model_fields_set:
            check_sandbox(variant.sandbox, available)
    if not available:
        raise bad_request(_no_sandbox(None, available))
    chosen = default or available[0]
    if any("sandbox" not in variant.model_fields_set for variant in request.variants):
        check_sandbox(chosen, available)
    return chosen


def check_sandbox(name: str, available: list[str]) -> None:
    """A named sandbox is one this server has."""
    if name in available:
        return
    if name == "local":
        raise bad_request(
            "the local sandbox cannot be used here: run sphynx eval --local, "
            "or start the server with --allow-local-sandbox"
        )
    raise bad_request(_no_sandbox(name, available))


def _no_sandbox(name: str | None, available: list[str]) -> str:
    there = ", ".join(available) or "none: start a Docker daemon, or it with --allow-local-sandbox"
    wanted = "a sandbox" if name is None else f"the sandbox {name}"
    return f"this server does not have {wanted}; it has {there}"


def busy(running: int) -> Refusal | None:
    """The refusal of a start while three batches run."""
    if running < MAX_RUNNING:
        return None
    return conflict(f"{running} batches are running, at most {MAX_RUNNING} may; retry once one finishes")


def missing(profiles: Iterable[Mapping[str, Any]], there: Container[str], keys: Sequence[str]) -> None:
    """Every variable a profile names must be set, and every key: ``keys`` are those that are not."""
    unset = {
        f'{name} (profile "{profile["name"]}")': None
        for profile in profiles
        for name in profile.get("variables") or ()
        if name not in there
    }
    lacking = [*unset, *keys]
    if lacking:
        first = lacking[0].split(" ")[0]
        raise bad_request(f"not set: {', '.join(lacking)}; sphynx env set {first}")


def _variants(request: SuiteBatchRequest) -> Iterator[str]:
    seen = Counter(identity(variant) for variant in request.variants)
    for (harness, model, sandbox, profile), count in seen.items():
        if count > 1:
            named = f"{harness}/{model}" + (f"@{profile}" if profile else "")
            yield f"{named} on {sandbox} is listed {count} times; variants must differ"


def identity(variant: EvalVariantRequest) -> tuple[str, str, str, str]:
    """What makes two variants the same."""
    profile = variant.profile.name if variant.profile else ""
    return variant.harness, variant.model, variant.sandbox, profile


def _size(request: SuiteBatchRequest) -> Iterator[str]:
    total = len(request.cases) * len(request.variants) * request.trials
    if total > MAX_TRIALS:
        yield f"a batch has at most {MAX_TRIALS} trials, this one asks for {total}"


def _case_ids(request: SuiteBatchRequest) -> Iterator[str]:
    for case_id, count in Counter(case.id for case in request.cases).items():
        if count > 1:
            yield f'the case "{case_id}" is listed {count} times'


def _profile(variant: EvalVariantRequest) -> Iterator[str]:
    profile = variant.profile
    run = profile.run if profile else None
    if variant.harness == "command" and not run:
        yield "harness command needs a profile with run"
    if variant.harness != "command" and run is not None:
        yield f"run only works with harness command, not {variant.harness}"
    if profile is not None:
        yield from _profile_limits(profile)


def _profile_limits(profile: HarnessProfile) -> Iterator[str]:
    if len(profile.files) > MAX_FILES:
        yield f'profile "{profile.name}" has {len(profile.files)} files, at most {MAX_FILES}'
    chars = sum(length(text) for text in profile.files.values())
    if chars > MAX_CHARS:
        yield f'profile "{profile.name}" has {chars} characters, at most {MAX_CHARS}'
    for name in profile.variables or ():
        problem = profile_problem(name)
        if problem is not None:
            yield f'profile "{profile.name}": {name} {problem}'
        if name in (profile.env or {}):
            yield f'profile "{profile.name}" has {name} in both env and variables'


def _case(case: EvalCase) -> Iterator[str]:
    if (case.verify is None) == (case.validator is None):
        what = "no check" if case.verify is None else "two checks"
        yield f'case "{case.id}" has {what}: give it either verify or validator'
    if case.cache is not None and not _safe_cache(case.cache.path):
        yield f'case "{case.id}": cache.path must be a folder inside the workspace'
    if isinstance(case.validator, JudgedValidator):
        yield from _judged(case.id, case.validator)
    elif case.validator is not None:
        yield from _manifest(case.id, [entry.index for entry in case.validator.manifest or ()])


def _judged(case_id: str, validator: JudgedValidator) -> Iterator[str]:
    count = sum(len(one.manifest) if one.manifest else 1 for one in validator.checks)
    if count > MAX_CHECKS:
        yield f'case "{case_id}" has {count} code checks, at most {MAX_CHECKS}'
    for one in validator.checks:
        yield from _manifest(case_id, [entry.index for entry in one.manifest or ()])
    for judge in validator.judges:
        if not 1 <= len(judge.choices) <= MAX_CHOICES:
            yield f'case "{case_id}": judge "{judge.name}" needs 1 to {MAX_CHOICES} choices'


def _manifest(case_id: str, indices: list[int]) -> Iterator[str]:
    if len(set(indices)) != len(indices):
        yield f'case "{case_id}": an index is in the manifest twice'


def _safe_cache(path: str) -> bool:
    parts = [part for part in PurePosixPath(path).parts if part != "."]
    inside = not path.startswith(("/", "~")) and ".." not in parts and "\0" not in path and "\\" not in path
    return inside and bool(parts) and parts[0] != ".sphynx"
