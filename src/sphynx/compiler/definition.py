"""What of a case makes its definition: the values its hash and its request are made of."""

from __future__ import annotations

from typing import Any

from sphynx.compiler.bundle import Contents
from sphynx.schema.definition import definition_hash
from sphynx.suite.cases import Case
from sphynx.suite.checks import COMMAND_TIMEOUT_MS, VALIDATOR_TIMEOUT_MS
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
        "validator": {"source": code} if case.checks else None,
        "verify": case.command.command if case.command else None,
        "source": source_value(suite.source_of(case)),
        "user": user_value(case),
        "cache": case.cache,
        "maxTurns": case.max_turns,
        "timeoutMs": case.timeout_ms,
        "x-sphynx": beyond_wire(case),
    }


def beyond_wire(case: Case) -> dict[str, Any]:
    """What changes the measurement and has no field on the wire: time limits of checks."""
    out: dict[str, Any] = {}
    limits = [check.timeout_ms for check in case.checks]
    if any(limit != VALIDATOR_TIMEOUT_MS for limit in limits):
        out["checkTimeoutMs"] = limits
    if case.command and case.command.timeout_ms != COMMAND_TIMEOUT_MS:
        out["commandTimeoutMs"] = case.command.timeout_ms
    return out


def source_value(source: Source) -> dict[str, Any]:
    """A source in its wire form."""
    if isinstance(source, Repo):
        return {"kind": "repo", "ref": source.ref, "url": source.url}
    if isinstance(source, Files):
        return {"kind": "files", "files": dict(source.files)}
    return {"kind": "empty"}


def user_value(case: Case) -> dict[str, Any] | None:
    """Who speaks after the opening prompt, in its wire form."""
    return {"kind": "scripted", "replies": list(case.user.replies)} if case.user else None
