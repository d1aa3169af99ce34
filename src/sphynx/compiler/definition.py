"""What of a case makes its definition: the values its hash and its request are made of."""

from __future__ import annotations

from typing import Any

from sphynx.compiler.bundle import Contents
from sphynx.schema.definition import definition_hash
from sphynx.suite.cases import Case
from sphynx.suite.checks import COMMAND_TIMEOUT_MS, VALIDATOR_TIMEOUT_MS
from sphynx.suite.judges import JudgeSpec
from sphynx.suite.people import ScriptedUser
from sphynx.suite.sources import Files, Repo, Source
from sphynx.suite.suites import Suite


def hash_of(suite: Suite, case: Case, prompt: str, contents: Contents | None) -> str:
    """The hash a case's history is kept under here.

    Its functions stand for the files they come from, not for the module a server is sent: that one holds
    Sphynx's own code too, and updating Sphynx does not change what is measured.
    """
    return definition_hash(stored(suite, case, prompt, contents))


def stored(suite: Suite, case: Case, prompt: str, contents: Contents | None) -> dict[str, Any]:
    """The case as :mod:`sphynx.schema.definition` reads it."""
    code = f"python {contents.identity}" if contents else ""
    return {
        "prompt": prompt,
        "prepare": {"source": code} if case.prepare else None,
        "validator": _validator(case, code),
        "verify": case.command.command if case.command else None,
        "source": source_value(suite.source_of(case)),
        "user": user_value(case),
        "cache": case.cache,
        "maxTurns": case.max_turns,
        "timeoutMs": case.timeout_ms,
        "x-sphynx": {**beyond_wire(case), **_mocks(suite, case, code)},
    }


def beyond_wire(case: Case) -> dict[str, Any]:
    """What changes the measurement and has no field on the wire: limits of checks, how judges are asked."""
    out: dict[str, Any] = {}
    limits = [check.timeout_ms for check in case.checks]
    if any(limit != VALIDATOR_TIMEOUT_MS for limit in limits):
        out["checkTimeoutMs"] = limits
    if case.command and case.command.timeout_ms != COMMAND_TIMEOUT_MS:
        out["commandTimeoutMs"] = case.command.timeout_ms
    asked = {judge.name: extra for judge in case.judges if (extra := _asked(judge))}
    if asked:
        out["judges"] = asked
    if case.fixtures:
        out["fixtures"] = dict(case.fixtures)
    return out


def mock_names(suite: Suite) -> dict[str, list[str]]:
    """The suite's mocks by kind; what they do is in the bundle."""
    kinds = {"mcp": suite.mcp, "cli": suite.cli, "api": suite.api}
    return {kind: [mock.label for mock in mocks] for kind, mocks in kinds.items() if mocks}


def _mocks(suite: Suite, case: Case, code: str) -> dict[str, Any]:
    """A case without functions of its own has no other part that stands for its mocks' code."""
    if not suite.mocks:
        return {}
    names: dict[str, Any] = mock_names(suite)
    return {"mocks": names if case.checks or case.prepare else {**names, "code": code}}


def _asked(judge: JudgeSpec) -> dict[str, Any]:
    """How a judge is asked beyond what the wire can say."""
    extra: dict[str, Any] = {"workspace": True} if judge.workspace else {}
    if judge.criteria:
        extra["criteria"] = list(judge.criteria)
    return extra | ({"votes": judge.votes} if judge.votes > 1 else {})


def _validator(case: Case, code: str) -> dict[str, Any] | None:
    if case.judges:
        checks = [{"source": code}] if case.checks else []
        return {"kind": "judged", "checks": checks, "judges": [judge_value(judge) for judge in case.judges]}
    return {"source": code} if case.checks else None


def judge_value(judge: JudgeSpec) -> dict[str, Any]:
    """A judge in its wire form; what was not given is left out."""
    out: dict[str, Any] = {
        "kind": "judge",
        "name": judge.name,
        "model": judge.model,
        "prompt": judge.rubric,
        "expected": judge.expected,
        "choices": dict(judge.choices),
        "files": list(judge.files) or None,
        "threshold": judge.threshold,
        "timeoutMs": judge.timeout_ms,
        "provider": judge.provider,
        "harness": judge.harness,
    }
    return {key: value for key, value in out.items() if value is not None}


def source_value(source: Source) -> dict[str, Any]:
    """A source in its wire form."""
    if isinstance(source, Repo):
        return {"kind": "repo", "ref": source.ref, "url": source.url}
    if isinstance(source, Files):
        return {"kind": "files", "files": dict(source.files)}
    return {"kind": "empty"}


def user_value(case: Case) -> dict[str, Any] | None:
    """Who speaks after the opening prompt, in its wire form."""
    user = case.user
    if user is None:
        return None
    if isinstance(user, ScriptedUser):
        return {"kind": "scripted", "replies": list(user.replies)}
    out: dict[str, Any] = {"kind": "simulated", "goal": user.goal, "prompt": user.prompt}
    return out | ({"harness": user.harness, "model": user.model} if user.harness else {})
