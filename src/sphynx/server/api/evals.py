"""Batches, suites, cases, runs and models, as they are read."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import msgspec
from starlette.responses import Response

from sphynx.schema.wire import Cursor
from sphynx.server.api.context import Asked
from sphynx.server.api.signing import LINK, Signer
from sphynx.server.identifiers import iso
from sphynx.server.models import catalogue
from sphynx.server.refusals import not_found
from sphynx.server.store import histories, results, statistics

_LAST_PAGE = 1_000_000


def place(cursor: Cursor | None) -> tuple[int, str] | None:
    """A cursor as the store takes it."""
    return None if cursor is None else (cursor.started_at_millis, cursor.id)


async def get_batch(asked: Asked) -> Response:
    """``EvalBatch``, encoded once per state of the batch; 304 for who has seen that state."""
    batch_id = asked.body.id
    async with asked.database.read() as connection:
        version = await results.version(connection, asked.org, batch_id)
    etag = f'"{version}"'
    if asked.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"etag": etag})

    async def made() -> tuple[str, bytes]:
        async with asked.database.read() as connection:
            seen = await results.version(connection, asked.org, batch_id)
            batch = await results.batch(connection, asked.org, batch_id)
        return seen, await anyio.to_thread.run_sync(msgspec.json.encode, batch)

    data = await asked.services.encoded.get((asked.org, batch_id), version, made)
    return Response(data, headers={"etag": etag}, media_type="application/json")


async def list_batches(asked: Asked) -> dict[str, Any]:
    """``BatchPage``."""
    async with asked.database.read() as connection:
        return await results.list_batches(connection, asked.org, place(asked.body.cursor), asked.body.limit)


async def link_batch(asked: Asked) -> dict[str, Any]:
    """``BatchLink``: a signed link to a batch of one's own."""
    batch_id = asked.body.id
    async with asked.database.read() as connection:
        if await results.owner(connection, batch_id) != asked.org:
            raise not_found(f'batch "{batch_id}"')
    link, until = Signer(asked.services.vault).link(batch_id)
    return {"path": f"/evals/{batch_id}?{LINK}={link}", "expiresAt": iso(until * 1000)}


async def list_suites(asked: Asked) -> dict[str, Any]:
    """``EvalSuitePage``."""
    async with asked.database.read() as connection:
        return await histories.list_suites(connection, asked.org, place(asked.body.cursor), asked.body.limit)


async def get_suite(asked: Asked) -> dict[str, Any]:
    """``EvalSuiteDetail``."""
    async with asked.database.read() as connection:
        return await histories.suite(connection, asked.org, asked.body.id)


async def list_cases(asked: Asked) -> dict[str, Any]:
    """``EvalCasePage``."""
    async with asked.database.read() as connection:
        return await histories.list_cases(connection, asked.org, asked.body)


async def get_case(asked: Asked) -> dict[str, Any]:
    """``EvalCaseDetail``."""
    async with asked.database.read() as connection:
        return await histories.case(connection, asked.org, asked.body.id)


async def list_runs(asked: Asked) -> dict[str, Any]:
    """``EvalRunPage``."""
    page = min(max(asked.body.page or 1, 1), _LAST_PAGE)
    async with asked.database.read() as connection:
        return await results.list_runs(connection, asked.org, asked.body.case_id, asked.body.variant, page)


async def get_run(asked: Asked) -> dict[str, Any]:
    """``EvalRun``."""
    async with asked.database.read() as connection:
        return await results.run(connection, asked.org, asked.body.id)


async def list_models(asked: Asked) -> dict[str, Any]:
    """``ModelCatalogue``."""
    return catalogue(asked.body.harness, asked.body.q)


async def get_statistics(asked: Asked) -> dict[str, Any]:
    """``Statistics``: how trials did over time."""
    async with asked.database.read() as connection:
        return await statistics.statistics(connection, asked.org, asked.body)


HANDLERS = {
    "evals.statistics.get": get_statistics,
    "evals.batches.get": get_batch,
    "evals.batches.list": list_batches,
    "evals.batches.link": link_batch,
    "evals.suites.list": list_suites,
    "evals.suites.get": get_suite,
    "evals.cases.list": list_cases,
    "evals.cases.get": get_case,
    "evals.runs.list": list_runs,
    "evals.runs.get": get_run,
    "evals.models.list": list_models,
}
