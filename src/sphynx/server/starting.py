"""Start a batch: everything that can refuse it first, then one transaction that creates it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import anyio.to_thread
from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.compiler.profiles import Profile
from sphynx.engine.batch import harness_version
from sphynx.registry import load_harness
from sphynx.schema.wire import EvalVariantRequest, RunnerBatchRequest, SuiteBatchRequest
from sphynx.server import admission
from sphynx.server.api.context import Asked, Services
from sphynx.server.definitions import Definition, Definitions, definitions_of
from sphynx.server.identifiers import now_ms
from sphynx.server.refusals import bad_request
from sphynx.server.store import batches, catalog, environment, histories
from sphynx.server.store.batches import NewBatch, VariantToRun
from sphynx.server.store.tables import expand
from sphynx.suite import Variant, variant

PLANS = {"codex": "chatgpt", "opencode": "opencode", "pi": "pi"}
"""The subscription a harness can sign in with."""

KNOWN_EXTRAS = frozenset({"solution", "checkTimeoutMs", "commandTimeoutMs"})
"""What of a case's ``x-sphynx`` the workers act on. Anything else would be silently left out."""


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
    if not local:
        admission.check_sandboxes(request, configuration.sandboxes)
    request = _with_sandboxes(request, "local" if local else configuration.sandbox or "local")
    admission.check(request)
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
            await _check_environment(connection, asked, request)
        await _check_busy(connection, asked.org)
        new = await _kept(connection, asked, request, definitions)
        return await batches.create(
            connection,
            NewBatch(
                **new, trials=request.trials, local=local, checks_in=request.checks_in, trigger=trigger,
                author=asked.actor.key_name, idempotency_key=key, request_hash=digest,
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
        variants = []
        for run in await histories.last_runs(connection, asked.org, case_id, wanted):
            await _check_rerun(connection, asked, run)
            variants.append(
                VariantToRun(
                    run["variant_id"], run["harness_version"], run["profile_version"], run["options"]
                )
            )
        await _check_busy(connection, asked.org)
        at = now_ms()
        await catalog.keep_suite(
            asked.database, connection, asked.org, row["suite_id"], stored["suite"]["name"], at
        )
        definition = Definition(case_id, row["name"], row["tags"], row["definition_hash"], stored)
        await catalog.keep_case(asked.database, connection, asked.org, definition, None, at)
        return await batches.create(
            connection,
            NewBatch(
                asked.org, row["suite_id"], [definition], variants, trials,
                trigger={"source": "api"}, author=asked.actor.key_name,
            ),
        )  # fmt: skip


def check_runs_here(stored: Mapping[str, Any]) -> None:
    """Refuse what this server's workers cannot do, before anything is started."""
    case = stored["case"]
    validator = case.get("validator") or {}
    if validator.get("kind") == "judged":
        raise bad_request(f'case "{case["id"]}": this server does not run judges: run it with --local')
    if (case.get("user") or {}).get("kind") == "simulated":
        raise bad_request(f'case "{case["id"]}": this server plays no persons: run it with --local')
    unknown = sorted(set(case.get("x-sphynx") or {}) - KNOWN_EXTRAS)
    if unknown:
        what = ", ".join(unknown)
        raise bad_request(f'case "{case["id"]}": this server does not know {what}: run it with --local')
    for part in ("validator", "prepare"):
        if "module" in (case.get(part) or {}):
            raise bad_request(f'case "{case["id"]}": this server runs Python checks only')


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


def key_environment(names: set[str], services: Services) -> dict[str, str]:
    """What a harness would find, with every value hidden: enough to see whether its key is there."""
    there = dict.fromkeys(names, "set")
    if services.environ.get("OPENAI_API_KEY", "").strip():
        there["OPENAI_API_KEY"] = "set"
    return there


async def _check_environment(connection: AsyncConnection, asked: Asked, request: SuiteBatchRequest) -> None:
    names = await environment.names_set(connection, asked.org)
    admission.missing_variables(request, names)
    for one in request.variants:
        await _check_key(connection, asked, names, variant(harness=one.harness, model=one.model))


async def _check_rerun(connection: AsyncConnection, asked: Asked, run: Any) -> None:
    if run["sandbox"] not in asked.services.configuration.sandboxes:
        there = ", ".join(asked.services.configuration.sandboxes) or "none"
        raise bad_request(f"this server does not have the sandbox {run['sandbox']}; it has {there}")
    names = await environment.names_set(connection, asked.org)
    if run["profile_version"]:
        profile = await catalog.profile_of(connection, asked.org, run["profile_version"])
        for name in profile.get("variables") or ():
            if name not in names:
                raise bad_request(
                    f'profile "{profile["name"]}" names {name}, which is not set: sphynx env set {name}'
                )
    await _check_key(connection, asked, names, variant(harness=run["harness"], model=run["model"]))


async def _check_key(connection: AsyncConnection, asked: Asked, names: set[str], one: Variant) -> None:
    there = key_environment(names, asked.services)
    plan = PLANS.get(one.harness)
    if plan and await environment.has_subscription(connection, asked.org, plan):
        there[f"SPHYNX_{one.harness.upper()}_AUTH_JSON"] = "set"
    needs = getattr(load_harness(one.harness), "needs", lambda variant, env: [])
    for need in needs(one, there):
        if not need["found"]:
            raise bad_request(
                f"harness {one.harness} has no key: set {need['name']} with sphynx env set {need['name']}"
            )


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
    variants = [await _variant(connection, asked, one) for one in request.variants]
    return {"org_id": org, "suite_id": suite.id, "cases": definitions.cases, "variants": variants}


async def _variant(connection: AsyncConnection, asked: Asked, one: EvalVariantRequest) -> VariantToRun:
    profile_version = None
    if one.profile is not None:
        wire = one.profile.wire()
        profile_version = profile_from(wire).version
        await catalog.keep_profile(asked.database, connection, asked.org, profile_version, wire)
    beyond = one.beyond or {}
    options = dict(beyond.get("options") or {})
    identity = {
        "harness": one.harness, "model": one.model, "sandbox": one.sandbox,
        "profile": one.profile.name if one.profile else "", "user_model": "",
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
