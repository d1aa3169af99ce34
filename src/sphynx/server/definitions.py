"""Case definitions as they are stored: the wire's case with its programs taken out and kept once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sphynx.schema.definition import definition_hash
from sphynx.schema.wire import SuiteBatchRequest
from sphynx.server.modules import NotPython, PythonModule, read_module, unpack
from sphynx.server.refusals import bad_request
from sphynx.suite.placeholders import render

PROGRAMS = ("validator", "prepare")


@dataclass(frozen=True, slots=True)
class Definition:
    """One case of a request. ``stored`` is what is kept of it, ``hash`` what its history is kept under."""

    case_id: str
    name: str
    tags: list[str]
    hash: str
    stored: dict[str, Any]


@dataclass(slots=True)
class Definitions:
    """The cases of a request in their order, and the packed bundles they need, by digest."""

    cases: list[Definition] = field(default_factory=list[Definition])
    bundles: dict[str, bytes] = field(default_factory=dict[str, bytes])


def definitions_of(request: SuiteBatchRequest, *, runs_here: bool) -> Definitions:
    """The definitions of a request. With ``runs_here``, programs that are not Python bundles are refused."""
    suite = {
        "id": request.suite.id,
        "name": request.suite.name or request.suite.id,
        "prompt": request.suite.prompt,
        "source": request.suite.source.wire() if request.suite.source else None,
    }
    found = Definitions()
    identities: dict[str, str] = {}
    for case in request.cases:
        wire = case.wire()
        codes: dict[str, str] = {}
        judged = _judged(case.id, wire, found, identities, runs_here)
        for part in PROGRAMS:
            if isinstance(wire.get(part), dict) and isinstance(wire[part].get("source"), str):
                wire[part], codes[part] = _taken_out(case.id, wire[part], found, identities, runs_here)
        found.cases.append(_definition(suite, case.id, wire, codes, judged))
    return found


def _judged(
    case_id: str,
    wire: dict[str, Any],
    found: Definitions,
    identities: dict[str, str],
    runs_here: bool,
) -> list[str] | None:
    """Take the programs out of a validator with judges; what they are, ``None`` for any other validator."""
    validator = wire.get("validator")
    if not isinstance(validator, dict) or validator.get("kind") != "judged":
        return None
    taken = [_taken_out(case_id, check, found, identities, runs_here) for check in validator["checks"]]
    wire["validator"] = {**validator, "checks": [check for check, _ in taken]}
    return [code for _, code in taken]


def _taken_out(
    case_id: str,
    program: dict[str, Any],
    found: Definitions,
    identities: dict[str, str],
    runs_here: bool,
) -> tuple[dict[str, Any], str]:
    source = program["source"]
    rest = {key: value for key, value in program.items() if key != "source"}
    try:
        module = read_module(source)
        if module.digest not in identities:
            identities[module.digest] = _identity(module)
            found.bundles[module.digest] = module.packed
    except NotPython as error:
        if runs_here:
            raise bad_request(f'case "{case_id}": this server runs Python checks only: {error}') from None
        return {**rest, "module": hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()}, source
    place = {"bundle": module.digest, "suite": module.request["suite"], "case": module.request["case"]}
    return {**rest, **place}, identities[module.digest]


def _identity(module: PythonModule) -> str:
    return f"python {unpack(module.packed).identity}"


def _definition(
    suite: dict[str, Any],
    case_id: str,
    wire: dict[str, Any],
    codes: Mapping[str, str],
    judged: list[str] | None,
) -> Definition:
    prompt, missing, _ = render(suite["prompt"], wire.get("variables") or {})
    if missing:
        raise bad_request(f'case "{case_id}" has no value for "{missing[0]}", which the prompt uses')
    source = wire.get("source") or suite["source"] or {"kind": "empty"}
    beyond = {key: value for key, value in (wire.get("x-sphynx") or {}).items() if key != "solution"}
    validator = wire.get("validator")
    hashed = {
        "prompt": prompt,
        "prepare": {"source": codes["prepare"]} if "prepare" in codes else None,
        "validator": _identified(validator, codes, judged),
        "verify": wire.get("verify"),
        "source": source,
        "user": wire.get("user"),
        "cache": wire.get("cache"),
        "maxTurns": wire.get("maxTurns"),
        "timeoutMs": wire.get("timeoutMs"),
        "x-sphynx": beyond,
    }
    kept = {**hashed, **{part: {"source": _short(code)} for part, code in codes.items()}}
    if judged is not None:
        kept["validator"] = _identified(validator, codes, [_short(code) for code in judged])
    stored = {"suite": suite, "case": wire, "prompt": prompt, "source": source, "hashed": kept}
    return Definition(
        case_id=case_id,
        name=wire.get("name") or case_id,
        tags=list(wire.get("tags") or []),
        hash=definition_hash(hashed),
        stored=stored,
    )


def _identified(validator: Any, codes: Mapping[str, str], judged: list[str] | None) -> Any:
    """A validator as its definition's hash reads it: programs stand for what their author wrote."""
    if judged is not None:
        checks = [{"source": code} for code in judged]
        return {"kind": "judged", "checks": checks, "judges": validator["judges"]}
    return {"source": codes["validator"]} if "validator" in codes else validator


def _short(code: str) -> str:
    """Enough of a program to see whether another is the same."""
    return code if len(code) <= 100 else hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


def setup_of(stored: Mapping[str, Any], *, files: bool) -> dict[str, Any]:
    """``EvalSetup`` of a stored definition; ``files`` adds the sources its checks were made from."""
    case = stored["case"]
    validator = case.get("validator") or {}
    sources = validator.get("sourceFiles") or []
    setup: dict[str, Any] = {
        "prepare": (case.get("prepare") or {}).get("name"),
        "prompt": stored["prompt"],
        "source": stored["source"],
        "validator": sources[0]["content"] if sources else validator.get("name"),
        "verify": case.get("verify"),
    }
    return {**setup, "validatorFiles": sources} if files and sources else setup
