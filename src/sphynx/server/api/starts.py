"""Everything that starts a batch, and its cancel."""

from __future__ import annotations

from typing import Any

from sphynx.server.api.context import Asked
from sphynx.server.refusals import bad_request, conflict
from sphynx.server.starting import run_case, start_suite
from sphynx.server.store import batches, results

_KEY_LIMIT = 128
CANCELLED = "The batch was cancelled"


async def start(asked: Asked) -> dict[str, Any]:
    """``evals.batches.start``; an idempotency key works here too."""
    return await start_suite(asked, asked.body, trigger={"source": "api"}, key=_key(asked))


async def start_runner(asked: Asked) -> dict[str, Any]:
    """``runner.start``: a batch that the caller's machine runs (``local``), or one the CLI started."""
    trigger = asked.body.trigger.wire() if asked.body.trigger else None
    return await start_suite(asked, asked.body, trigger=trigger, key=_key(asked))


async def start_case(asked: Asked) -> dict[str, Any]:
    """``evals.cases.run``."""
    return await run_case(asked, asked.body.id, asked.body.trials, asked.body.variants)


async def cancel(asked: Asked) -> dict[str, Any]:
    """Cancel a batch: what had not ended is void. 409 when it is over."""
    async with asked.database.write() as connection:
        batch = await results.batch(connection, asked.org, asked.body.id)
        if not await batches.end_early(asked.database, connection, batch["id"], CANCELLED):
            raise conflict(f"the batch has already {batch['status']}")
        return await results.batch(connection, asked.org, asked.body.id)


def _key(asked: Asked) -> str | None:
    key = asked.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= _KEY_LIMIT:
        raise bad_request(f"idempotency-key must have 1 to {_KEY_LIMIT} characters")
    return key


HANDLERS = {
    "evals.batches.start": start,
    "evals.batches.cancel": cancel,
    "evals.cases.run": start_case,
    "runner.start": start_runner,
}
