"""Batches that run on their owner's machine: leases, reports, heartbeats, the end."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from sphynx.redaction import Redactor
from sphynx.server.api.context import Asked
from sphynx.server.identifiers import iso, now_ms
from sphynx.server.lending import PLANS
from sphynx.server.refusals import bad_request, not_found
from sphynx.server.reports import trial_of
from sphynx.server.store import batches, environment, results
from sphynx.server.store.tables import ENDED, RUNS, TRIALS, VARIANTS
from sphynx.settings.names import KNOWN, secret_values

LEASE_MS = 15 * 60_000
UNREPORTED = "The trial was never reported"


async def lease(asked: Asked) -> dict[str, Any]:
    """``CredentialLease``: a harness's key or login for one open batch."""
    harness = asked.body.harness
    async with asked.database.write() as connection:
        await batches.local_batch(connection, asked.org, asked.body.id)
        await batches.seen(connection, asked.body.id)
        if harness == "command":
            return _lease("none", {})
        plan = PLANS.get(harness)
        if plan:
            login = await environment.subscription(connection, asked.org, plan, asked.services.vault)
            if login is not None:
                return _lease("chatgpt" if plan == "chatgpt" else "auth-json", {"authJson": login})
        names = [known.name for known in KNOWN.values() if known.for_harness == harness]
        found = await environment.values(connection, asked.org, asked.services.vault, names)
        wanted = [name for name in names if not KNOWN[name].optional and name not in found]
        if wanted or not names:
            raise not_found(f"key for {harness}: {', '.join(wanted) or 'nothing is set for it'}")
        await environment.mark_used(connection, asked.org, found)
    fields = {"apiKey" if not KNOWN[name].optional else "baseUrl": value for name, value in found.items()}
    return _lease("api-key", fields)


def _lease(method: str, values: dict[str, str]) -> dict[str, Any]:
    return {"authMethodId": method, "expiresAt": iso(now_ms() + LEASE_MS), "values": values}


async def lease_variables(asked: Asked) -> dict[str, Any]:
    """``VariableLease``: values for one open batch. 400 names what is not set."""
    names = list(dict.fromkeys(asked.body.names))
    async with asked.database.write() as connection:
        await batches.local_batch(connection, asked.org, asked.body.id)
        await batches.seen(connection, asked.body.id)
        found = await environment.values(connection, asked.org, asked.services.vault, names)
        missing = [name for name in names if name not in found]
        if missing:
            raise bad_request(f"not set: {', '.join(missing)}; sphynx env set {missing[0]}")
        await environment.mark_used(connection, asked.org, names)
    return {"expiresAt": iso(now_ms() + LEASE_MS), "values": found}


async def report(asked: Asked) -> None:
    """Record one trial of a local batch. A repeated report changes nothing."""
    body = asked.body
    async with asked.database.write() as connection:
        query = (
            sa.select(TRIALS.c.id, RUNS.c.batch_id, VARIANTS.c.harness, VARIANTS.c.model)
            .join(RUNS, RUNS.c.id == TRIALS.c.run_id)
            .join(VARIANTS, VARIANTS.c.id == RUNS.c.variant_id)
            .where(RUNS.c.id == body.run_id, RUNS.c.org_id == asked.org, TRIALS.c.ordinal == body.ordinal)
        )
        row = (await connection.execute(query)).first()
        if row is None:
            raise not_found(f'trial {body.ordinal} of run "{body.run_id}"')
        await batches.local_batch(connection, asked.org, row.batch_id)
        values = await environment.openable(connection, asked.org, asked.services.vault)
        redactor = Redactor(secret_values(values))
        trial, journal = trial_of(body, row.id, harness=row.harness, model=row.model, redactor=redactor)
        await batches.settle_trial(asked.database, connection, row.id, trial, journal)
        await batches.seen(connection, row.batch_id)


async def beat(asked: Asked) -> None:
    """The batch is still being run. 409 when it was closed meanwhile."""
    async with asked.database.write() as connection:
        await batches.local_batch(connection, asked.org, asked.body.id)
        await batches.seen(connection, asked.body.id)


async def finish(asked: Asked) -> dict[str, Any]:
    """The batch is done; trials that were never reported are void. ``EvalBatch``."""
    async with asked.database.write() as connection:
        batch = await results.batch(connection, asked.org, asked.body.id)
        if batch["status"] == "finished" and batch["local"]:
            return batch
        await batches.local_batch(connection, asked.org, asked.body.id)
        query = sa.select(TRIALS.c.id, TRIALS.c.ordinal).where(
            TRIALS.c.batch_id == asked.body.id, TRIALS.c.status.not_in(ENDED)
        )
        for row in (await connection.execute(query)).all():
            blank = batches.blank_trial(row.id, row.ordinal, "void", UNREPORTED)
            await batches.settle_trial(asked.database, connection, row.id, blank, [])
        await batches.close_if_done(connection, asked.body.id)
        return await results.batch(connection, asked.org, asked.body.id)


HANDLERS = {
    "runner.lease": lease,
    "runner.leaseVariables": lease_variables,
    "runner.report": report,
    "runner.beat": beat,
    "runner.finish": finish,
}
