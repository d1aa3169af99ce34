"""Start a batch: everything that can refuse it first, then one transaction that creates it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.compiler.profiles import Profile
from sphynx.engine.batch import harness_version
from sphynx.engine.people import user_model
from sphynx.schema.wire import EvalVariantRequest, RunnerBatchRequest, SuiteBatchRequest
from sphynx.server import admission, extras, lending
from sphynx.server.api.context import Asked
from sphynx.server.definitions import Definition, Definitions, definitions_of
from sphynx.server.execution.rebuilt import case_of, programs_of
from sphynx.server.identifiers import now_ms
from sphynx.server.refusals import bad_request
from sphynx.server.store import batches, catalog, histories
from sphynx.server.store.batches import NewBatch, VariantToRun
from sphynx.server.store.tables import expand
from sphynx.suite import Variant, variant


async def start_suite(
    asked: Asked, request: SuiteBatchRequest, *, trigger: dict[str, Any] | None, key: str | None = None
) -> dict[str, Any]:
    """Start a batch of a request; ``StartedBatch``. With a key, a repeated request gets the first one."""
    local = isinstance(request, RunnerBatchRequest) and request.local
    digest = _digest(request)
    if key is not None:
        async with asked.database.read() as connection:
            before = await batches.started_before(connection, asked.org, key, digest)
        if before is not None:
            return before
    configuration = asked.services.configuration
    default = "local"
    if not local:
        available = await anyio.to_thread.run_sync(lambda: configuration.sandboxes)
        default = admission.check_sandboxes(request, available, configuration.default_sandbox)
    request = _with_sandboxes(request, default)
    admission.check(request)
    extras.check(request)
    definitions = await anyio.to_thread.run_sync(lambda: definitions_of(request, runs_here=not local))
    if not local:
        for definition in definitions.cases:
            check_runs_here(definition.stored)
    async with asked.database.write() as connection:
        if key is not None:
            before = await batches.started_before(connection, asked.org, key, digest)
            if before is not None:
                return before
        if not local:
            variants = [variant(harness=one.harness, model=one.model) for one in request.variants]
            profiles = [one.profile.wire() for one in request.variants if one.profile]
            await _check_environment(connection, asked, variants, profiles, definitions.cases)
        await _check_busy(connection, asked.org)
        new = await _kept(connection, asked, request, definitions)
        return await batches.create(
            connection,
            NewBatch(
                **new, trials=request.trials, local=local, checks_in=request.checks_in, trigger=trigger,
                author=asked.actor.key_name, idempotency_key=key, request_hash=digest,
                priority=(request.beyond or {}).get("priority", batches.PRIORITY),
            ),
        )  # fmt: skip


async def run_case(
    asked: Asked, case_id: str, trials: int, variant_ids: Sequence[str] | None
) -> dict[str, Any]:
    """Start a batch of a stored case's newest version on the variants named, or all it has run on."""
    async with asked.database.write() as connection:
        row, ran_on = await histories.newest_definition(connection, asked.org, case_id)
        wanted = list(dict.fromkeys(variant_ids)) if variant_ids is not None else ran_on
        if len(wanted) * trials > admission.MAX_TRIALS:
            raise bad_request(f"a batch has at most {admission.MAX_TRIALS} trials")
        stored = expand(row["definition_z"])
        check_runs_here(stored)
        definition = Definition(case_id, row["name"], row["tags"], row["definition_hash"], stored)
        runs = await histories.last_runs(connection, asked.org, case_id, wanted)
        await _check_rerun(connection, asked, runs, definition)
        variants = [
            VariantToRun(run["variant_id"], run["harness_version"], run["profile_version"], run["options"])
            for run in runs
        ]
        await _check_busy(connection, asked.org)
        at = now_ms()
        await catalog.keep_suite(
            asked.database, connection, asked.org, row["suite_id"], stored["suite"]["name"], at
        )
        await catalog.keep_case(asked.database, connection, asked.org, definition, None, at)
        return await batches.create(
            connection,
            NewBatch(
                asked.org, row["suite_id"], [definition], {case_id: variants}, trials,
                trigger={"source": "api"}, author=asked.actor.key_name,
            ),
        )  # fmt: skip


def check_runs_here(stored: Mapping[str, Any]) -> None:
    """Refuse what this server's workers cannot do, before anything is started."""
    case = stored["case"]
    programs = programs_of(stored)
    if any("module" in program for program in programs):
        raise bad_request(f'case "{case["id"]}": this server runs Python checks only')
    if (case.get("x-sphynx") or {}).get("mocks") and not programs:
        raise bad_request(f'case "{case["id"]}" has mocks and no program that brings them')
    if len({program["bundle"] for program in programs}) > 1:
        raise bad_request(f'case "{case["id"]}": its programs must come from one bundle: run it with --local')
    if len((case.get("validator") or {}).get("checks") or ()) > 1:
        raise bad_request(f'case "{case["id"]}": put its code checks into one program')


def profile_from(wire: Mapping[str, Any]) -> Profile:
    """A stored profile as the engine takes it."""
    return Profile(
        name=wire["name"],
        files=wire["files"],
        system_prompt=wire.get("systemPrompt"),
        env=wire.get("env"),
        variables=tuple(wire.get("variables") or ()),
        install=wire.get("install"),
        run=wire.get("run"),
    )


async def _check_environment(
    connection: AsyncConnection,
    asked: Asked,
    variants: Sequence[Variant],
    profiles: Iterable[Mapping[str, Any]],
    definitions: Sequence[Definition],
) -> None:
    """Refuse what would find a variable or key missing, naming every one."""
    environ = asked.services.environ
    harnesses = [one.harness for one in variants]
    there = await lending.names_there(connection, asked.org, environ, harnesses)
    cases = [case_of(definition.stored) for definition in definitions]
    admission.missing(profiles, there, lending.missing_keys(variants, cases, there))


async def _check_rerun(
    connection: AsyncConnection, asked: Asked, runs: Sequence[Any], definition: Definition
) -> None:
    profiles, variants = [], []
    for run in runs:
        admission.check_sandbox(run["sandbox"], asked.services.configuration.sandboxes)
        variants.append(variant(harness=run["harness"], model=run["model"]))
        if run["profile_version"]:
            profiles.append(await catalog.profile_of(connection, asked.org, run["profile_version"]))
    await _check_environment(connection, asked, variants, profiles, [definition])


async def _check_busy(connection: AsyncConnection, org_id: str) -> None:
    refusal = admission.busy(await batches.running(connection, org_id))
    if refusal is not None:
        raise refusal


async def _kept(
    connection: AsyncConnection, asked: Asked, request: SuiteBatchRequest, definitions: Definitions
) -> dict[str, Any]:
    """Store what the batch is made of; the fields of ``NewBatch`` that follow from it."""
    at, database, org = now_ms(), asked.database, asked.org
    suite = request.suite
    await catalog.keep_suite(database, connection, org, suite.id, suite.name or suite.id, at)
    await catalog.keep_bundles(database, connection, org, definitions.bundles)
    for definition in definitions.cases:
        await catalog.keep_case(database, connection, org, definition, asked.actor.key_name, at)
    variants: dict[str, list[VariantToRun]] = {}
    for definition in definitions.cases:
        person = user_model(case_of(definition.stored), asked.services.environ) or ""
        variants[definition.case_id] = [
            await _variant(connection, asked, one, person) for one in request.variants
        ]
    return {"org_id": org, "suite_id": suite.id, "cases": definitions.cases, "variants": variants}


async def _variant(
    connection: AsyncConnection, asked: Asked, one: EvalVariantRequest, person: str
) -> VariantToRun:
    profile_version = None
    if one.profile is not None:
        wire = one.profile.wire()
        profile_version = profile_from(wire).version
        await catalog.keep_profile(asked.database, connection, asked.org, profile_version, wire)
    beyond = one.beyond or {}
    options = dict(beyond.get("options") or {})
    identity = {
        "harness": one.harness, "model": one.model, "sandbox": one.sandbox,
        "profile": one.profile.name if one.profile else "", "user_model": person,
    }  # fmt: skip
    variant_id = await catalog.keep_variant(connection, asked.org, identity)
    version = beyond.get("harnessVersion") or harness_version(variant(harness=one.harness, model=one.model))
    return VariantToRun(variant_id, str(version), profile_version, options)


def _with_sandboxes(request: SuiteBatchRequest, default: str) -> SuiteBatchRequest:
    filled = [
        one if "sandbox" in one.model_fields_set else one.model_copy(update={"sandbox": default})
        for one in request.variants
    ]
    return request.model_copy(update={"variants": filled})


def _digest(request: SuiteBatchRequest) -> str:
    text = json.dumps(request.wire(), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
