"""The request that starts a compiled suite on a server."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import ValidationError

from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.compiler.definition import beyond_wire, judge_value, mock_names, source_value, user_value
from sphynx.compiler.es_module import es_module, pack
from sphynx.compiler.profiles import Profile
from sphynx.compiler.sources import captured
from sphynx.errors import CompileError
from sphynx.schema.wire import BuiltInHarness, Harness, SuiteBatchRequest
from sphynx.suite.cases import Case
from sphynx.suite.judges import JudgeSpec
from sphynx.suite.people import SimulatedUser
from sphynx.suite.sources import Repo, Source, is_path


def build(compiled: CompiledSuite) -> SuiteBatchRequest:
    """``compiled`` as the wire has it; prompts stay templates. ``CompileError`` when no server can run it."""
    suite = compiled.suite
    try:
        packed = pack(compiled.contents) if compiled.contents else b""
        files = captured(compiled.contents) if compiled.contents and suite.capture_source else []
        data: dict[str, Any] = {
            "suite": {"id": suite.id, "name": suite.name, "prompt": suite.prompt},
            "cases": [_case(compiled, item, packed, files) for item in compiled.cases],
            "variants": [_variant(item) for item in compiled.variants],
            "trials": suite.trials,
        }
        if suite.source is not None:
            data["suite"]["source"] = _source(suite.source)
        return SuiteBatchRequest.model_validate(data)
    except CompileError as error:
        message = f'{compiled.file}: suite "{suite.id}": {error.message}'
        raise CompileError(message, hint=error.hint, tag=error.tag) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f'{compiled.file}: suite "{suite.id}": {where}: {first["msg"]}'
        raise CompileError(message, tag="RequestInvalid") from error


def _case(
    compiled: CompiledSuite, item: CompiledCase, packed: bytes, files: list[dict[str, str]]
) -> dict[str, Any]:
    case = item.case
    if isinstance(case.user, SimulatedUser) and case.user.harness:
        _agent_on_wire(case.user.harness, f'the person of case "{case.id}"')
    place = {"suite": compiled.index, "case": case.id}
    out: dict[str, Any] = {
        "id": case.id,
        "name": case.name,
        "source": _source(compiled.suite.source_of(case)),
        "tags": list(case.tags),
        "variables": dict(case.variables),
    }
    given = {
        "cache": dict(case.cache) if case.cache else None,
        "maxTurns": case.max_turns,
        "timeoutMs": case.timeout_ms,
        "user": user_value(case),
        "verify": case.command.command if case.command else None,
    }
    out |= {key: value for key, value in given.items() if value is not None}
    if case.prepare:
        name = getattr(case.prepare, "__name__", "prepare").strip("<>")[:100] or "prepare"
        out["prepare"] = {"name": name, "source": es_module(packed, {"op": "prepare", **place})}
    if case.checks or case.judges:
        program = {"op": "checks", **place, "capture": compiled.suite.capture_validation}
        out["validator"] = _validator(
            compiled, case, es_module(packed, program) if case.checks else "", files
        )
    beyond = beyond_wire(case)
    if isinstance(case.solution, str):
        beyond["solution"] = case.solution
    if compiled.suite.mocks:
        if not case.checks and not case.prepare:
            raise CompileError(
                f'case "{case.id}" has mocks and no Python function that would bring them to a server',
                tag="MocksNotOnWire",
                hint="give it a check that is a function, or run it with --local",
            )
        beyond["mocks"] = mock_names(compiled.suite)
    if beyond:
        out["x-sphynx"] = beyond
    return out


def _validator(
    compiled: CompiledSuite, case: Case, source: str, files: list[dict[str, str]]
) -> dict[str, Any]:
    out: dict[str, Any] = {} if compiled.suite.capture_validation else {"capture": False}
    names = [check.name for check in case.checks]
    checks = {
        "name": names[0][:100] if len(names) == 1 else f"{len(names)} checks",
        "manifest": [{"index": check.index, "name": check.name} for check in case.checks],
        "source": source,
        **out,
    }
    if not case.judges:
        out |= checks
    else:
        names += [judge.name for judge in case.judges]
        out["kind"] = "judged"
        out["name"] = names[0][:100] if len(names) == 1 else f"{len(names)} checks"
        out["checks"] = [checks] if case.checks else []
        out["judges"] = [_judge(judge) for judge in case.judges]
    if files and case.checks:
        out["sourceFiles"] = files
    return out


def _judge(judge: JudgeSpec) -> dict[str, Any]:
    if judge.harness is not None:
        _agent_on_wire(judge.harness, f'judge "{judge.name}"')
    return judge_value(judge)


def _agent_on_wire(harness: str, who: str) -> None:
    if harness not in get_args(BuiltInHarness):
        raise CompileError(
            f'{who}: harness "{harness}" only runs here',
            tag="HarnessNotOnWire",
            hint="run it with --local, or choose one of " + ", ".join(get_args(BuiltInHarness)),
        )


def _source(source: Source) -> dict[str, Any]:
    if isinstance(source, Repo) and is_path(source.url):
        raise CompileError(
            f"{source!r} is a path on this machine, which a server cannot clone",
            tag="SourceNotOnWire",
            hint="name the repository by its URL, or run it here with --local",
        )
    return source_value(source)


def _variant(item: CompiledVariant) -> dict[str, Any]:
    variant = item.variant
    if variant.harness not in get_args(Harness):
        raise CompileError(
            f'harness "{variant.harness}" only runs here',
            tag="HarnessNotOnWire",
            hint="run it with --local, or choose one of " + ", ".join(get_args(Harness)),
        )
    out: dict[str, Any] = {"harness": variant.harness, "model": variant.model}
    if variant.sandbox is not None:
        out["sandbox"] = variant.sandbox
    if item.profile:
        out["profile"] = _profile(item.profile)
    beyond: dict[str, Any] = {}
    if variant.harness_version is not None:
        beyond["harnessVersion"] = variant.harness_version
    if variant.options:
        beyond["options"] = dict(variant.options)
    if beyond:
        out["x-sphynx"] = beyond
    return out


def _profile(profile: Profile) -> dict[str, Any]:
    out: dict[str, Any] = {"name": profile.name, "files": {**profile.files, **_texts(profile)}}
    optional = {
        "env": None if profile.env is None else dict(profile.env),
        "systemPrompt": profile.system_prompt,
        "install": profile.install,
        "run": profile.run,
        "variables": list(profile.variables) or None,
    }
    return {**out, **{key: value for key, value in optional.items() if value is not None}}


def _texts(profile: Profile) -> dict[str, str]:
    """The files of a skill, as far as the wire has a form for them: texts."""
    out: dict[str, str] = {}
    for path, blob in profile.blobs.items():
        try:
            out[path] = blob.data.decode("utf-8")
        except UnicodeDecodeError:
            raise CompileError(
                f'profile "{profile.name}": {path} is no text, which a server cannot take',
                tag="ProfileFileNotText",
                hint="run it here with --local",
            ) from None
    return out
