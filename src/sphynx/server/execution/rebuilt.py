"""From a stored definition back to what the engine runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.compiler import bundle
from sphynx.compiler.compiled import CompiledCase, CompiledSuite, CompiledVariant
from sphynx.compiler.profiles import Profile
from sphynx.contracts import BundleRef
from sphynx.errors import Problem
from sphynx.server.modules import unpack
from sphynx.suite import Case, Suite, Variant, case, suite, variant
from sphynx.suite.checks import VALIDATOR_TIMEOUT_MS, Check
from sphynx.suite.judges import JudgeSpec


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """One case on one variant, ready for the engine."""

    suite: CompiledSuite
    case: CompiledCase
    variant: CompiledVariant


def rebuild(
    stored: Mapping[str, Any],
    *,
    definition_hash: str,
    of_variant: Mapping[str, Any],
    profile: Profile | None,
    bundle_ref: BundleRef | None,
) -> Rebuilt:
    """The engine's objects. ``of_variant`` has ``harness``, ``model``, ``version`` and ``options``."""
    one = case_of(stored)
    compiled = CompiledCase(one, stored["prompt"], one.source, definition_hash)
    chosen = _variant(of_variant)
    label = chosen.label + (f"@{profile.name}" if profile else "")
    whole = CompiledSuite(
        path=Path("/") / f"{stored['suite']['id']}_eval.py",
        file=f"{stored['suite']['id']}_eval.py",
        index=_place(stored)["suite"],
        suite=_suite(stored, one, chosen),
        cases=(compiled,),
        variants=(CompiledVariant(chosen, label, profile),),
        bundle=bundle_ref,
    )
    return Rebuilt(whole, compiled, whole.variants[0])


def bundle_digest(stored: Mapping[str, Any]) -> str | None:
    """The bundle a definition's functions are in; ``None`` when it has none."""
    return _place(stored).get("bundle")


def write_bundle(packed: bytes, digest: str, staging: Path) -> BundleRef:
    """Unpack a bundle into ``staging``; one that is there already whole is used as it is."""
    contents = unpack(packed)
    staging.mkdir(parents=True, exist_ok=True)
    return bundle.write(contents, staging)


def forget(folder: Path) -> None:
    """Remove a folder and what is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def programs_of(stored: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The programs of a stored definition: each has its ``bundle``, or ``module`` when it is not ours."""
    case = stored["case"]
    validator = case.get("validator") or {}
    coded = validator.get("checks") if validator.get("kind") == "judged" else [validator]
    named = [*(coded or ()), case.get("prepare") or {}]
    return [program for program in named if "bundle" in program or "module" in program]


def case_of(stored: Mapping[str, Any]) -> Case:
    """The case of a stored definition; its functions stand for those of the bundle and cannot be called."""
    wire = stored["case"]
    beyond = wire.get("x-sphynx") or {}
    made = case(
        id=wire["id"],
        name=wire.get("name") or wire["id"],
        variables=wire.get("variables") or {},
        source=_source(stored["source"]),
        prepare=_in_the_sandbox if wire.get("prepare") else None,
        cache=wire.get("cache"),
        tags=wire.get("tags") or [],
        user=_user(wire.get("user")),
        max_turns=wire.get("maxTurns"),
        timeout_ms=wire.get("timeoutMs"),
        validate=_command(wire, beyond),
        fixtures=beyond.get("fixtures"),
    )
    made.checks = list(_checks(wire, beyond))
    made.judges = list(_judges(wire, beyond))
    return made


def _user(wire: Mapping[str, Any] | None) -> Any:
    return {key: value for key, value in wire.items() if key != "kind"} if wire else None


def _place(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((program for program in programs_of(stored) if "bundle" in program), {"suite": 0})


def _command(wire: Mapping[str, Any], beyond: Mapping[str, Any]) -> Any:
    if wire.get("verify") is None:
        return []
    return {"command": wire["verify"], "timeout_ms": beyond.get("commandTimeoutMs")}


def _checks(wire: Mapping[str, Any], beyond: Mapping[str, Any]) -> list[Check]:
    validator = wire.get("validator") or {}
    program = next(iter(validator.get("checks") or ()), None) if "judges" in validator else validator
    if not program:
        return []
    manifest = program.get("manifest") or [{"index": 0, "name": program["name"]}]
    limits = beyond.get("checkTimeoutMs") or []
    return [
        Check(
            entry["index"],
            entry["name"],
            _in_the_sandbox,
            limits[number] if number < len(limits) else VALIDATOR_TIMEOUT_MS,
        )
        for number, entry in enumerate(manifest)
    ]


def _judges(wire: Mapping[str, Any], beyond: Mapping[str, Any]) -> Iterator[JudgeSpec]:
    """The judges of a case; how they are asked beyond the wire is kept beside it, by their names."""
    more = beyond.get("judges") or {}
    for index, judge in enumerate((wire.get("validator") or {}).get("judges") or ()):
        asked = more.get(judge["name"]) or {}
        given = {**judge, "timeout_ms": judge.get("timeoutMs"), **asked}
        made = JudgeSpec(index, given)
        # The wire's prompt holds the numbered criteria already.
        rubric = made.rubric.removeprefix(made.prompt)
        made.prompt = made.prompt.removesuffix(rubric)
        yield made


def _source(wire: Mapping[str, Any]) -> Any:
    if wire["kind"] == "repo":
        return {"kind": "repo", "url": wire["url"], "ref": wire.get("ref")}
    return {"kind": "files", "files": wire["files"]} if wire["kind"] == "files" else {"kind": "empty"}


def _suite(stored: Mapping[str, Any], one: Case, chosen: Variant) -> Suite:
    validator = stored["case"].get("validator") or {}
    names = (stored["case"].get("x-sphynx") or {}).get("mocks") or {}
    mocks: Any = {
        kind: [_StandIn(kind, name) for name in names.get(kind, ())] for kind in ("mcp", "cli", "api")
    }
    return suite(
        id=stored["suite"]["id"], name=stored["suite"]["name"], prompt=stored["suite"]["prompt"],
        cases=[one], variants=[chosen], capture_validation=validator.get("capture", True), **mocks,
    )  # fmt: skip


def _variant(wire: Mapping[str, Any]) -> Variant:
    options = wire["options"]
    return variant(
        harness=wire["harness"], model=wire["model"], harness_version=wire["version"] or None, **options
    )


@dataclass(frozen=True, slots=True)
class _StandIn:
    """A mock of the bundle, which is served in the sandbox: here only its name is known."""

    sphynx_kind: str
    label: str

    def parts(self) -> tuple[()]:
        return ()

    def problems(self, where: str = "") -> Iterator[Problem]:
        return iter(())


async def _in_the_sandbox(context: Any) -> bool:
    """Stands for a function of the bundle, which is only ever called in the sandbox."""
    raise RuntimeError("functions of a bundle run in the sandbox")
