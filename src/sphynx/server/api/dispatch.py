"""One endpoint per operation: key, permission, limits, body, handler, answer."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from sphynx.schema.operations import EXTENSIONS, OPERATIONS, Operation
from sphynx.server.api import evals, organization, prompts, runner, starts
from sphynx.server.api.body import read_body, received
from sphynx.server.api.context import Asked, Handler, Services
from sphynx.server.api.gate import Gate
from sphynx.server.api.metrics import Metrics
from sphynx.server.refusals import Refusal, bad_request, forbidden
from sphynx.server.store.database import away
from sphynx.server.vault import SealedError

ALL: dict[str, Operation] = {**OPERATIONS, **EXTENSIONS}
HANDLERS: dict[str, Handler] = {
    **organization.HANDLERS,
    **prompts.HANDLERS,
    **evals.HANDLERS,
    **starts.HANDLERS,
    **runner.HANDLERS,
}
_LOG = logging.getLogger("sphynx.server")


def endpoint(
    operation: Operation, services: Services, gate: Gate, metrics: Metrics
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of one operation."""
    handler = HANDLERS[operation.name]
    limit = (
        services.configuration.max_report
        if operation.name == "runner.report"
        else services.configuration.max_body
    )

    async def answer(request: Request) -> Response:
        actor = await gate.actor(request.headers.get("authorization"))
        if not actor.may(operation.permission):
            raise forbidden(str(operation.permission))
        body = read_body(operation, await received(request, limit))
        result = await handler(Asked(services, actor, body, request.headers))
        if isinstance(result, Response):
            return result
        return Response(status_code=204) if operation.response is None else json_response(result)

    async def served(request: Request) -> Response:
        begun = perf_counter()
        try:
            response = await answer(request)
        except Refusal as refusal:
            response = refused(refusal)
        except SealedError as error:
            _LOG.error(error.message, extra={"op": operation.name})
            response = refused(bad_request(f"{error.message}; {error.hint}" if error.hint else error.message))
        except Exception as error:
            # Nothing of the error itself: its text may hold what a client or an agent sent.
            _LOG.error("internal error", extra={"op": operation.name, "error": type(error).__name__})
            _LOG.debug("traceback", exc_info=error)
            response = refused(_failed(error))
        metrics.count(operation.name, response.status_code, perf_counter() - begun)
        return response

    return served


def _failed(error: Exception) -> Refusal:
    if away(error):
        text = "the database does not answer, try again"
        return Refusal(503, "Unavailable", text, headers={"retry-after": "1"})
    return Refusal(500, "InternalError", "the server failed; its log says more")


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


def refused(refusal: Refusal) -> Response:
    """A refusal as its error body."""
    headers = dict(refusal.headers)
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    return json_response(refusal.body(), refusal.status, headers)
