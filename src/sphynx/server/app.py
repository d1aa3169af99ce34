"""The server's application: wiring only."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import sqlalchemy as sa
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sphynx._version import __version__
from sphynx.server.api.context import Services
from sphynx.server.api.dispatch import ALL, endpoint, json_response, refused
from sphynx.server.api.gate import Gate
from sphynx.server.api.metrics import Metrics
from sphynx.server.api.openapi import document
from sphynx.server.api.pages import Pages
from sphynx.server.quiet import sweep_forever
from sphynx.server.refusals import Refusal

EXTENSIONS = [
    "x-sphynx", "python-bundles", "start-idempotency", "batches-cancel", "batches-link", "batches-etag",
    "batches-priority", "statistics",
]  # fmt: skip
"""What this server announces at ``/``; a client sends the additions to no other."""


def create_app(services: Services) -> FastAPI:
    """The application over a store that is already migrated. Closes the store when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(sweep_forever, services.database)
            try:
                yield
            finally:
                group.cancel_scope.cancel()
        with suppress(Exception):
            await services.database.aclose()

    app = FastAPI(
        title="Sphynx API", version=__version__, lifespan=lifespan, openapi_url=None, docs_url=None,
        redoc_url=None,
    )  # fmt: skip
    gate = Gate(services.database, services.configuration.rate_limit)
    metrics = Metrics()
    for operation in ALL.values():
        app.add_route(operation.path, endpoint(operation, services, gate, metrics), methods=["POST"])
    _add_plain_routes(app, services, metrics)
    pages = Pages(services, gate)
    app.add_route("/evals/{id}", pages.show, methods=["GET"])
    app.add_route("/evals/{id}", pages.sign_in, methods=["POST"])

    async def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        tag = {404: "NotFound", 405: "MethodNotAllowed"}.get(status, "BadRequest")
        text = "there is no such operation" if status == 404 else "every operation is a POST"
        headers = error.headers if isinstance(error, HTTPException) else None
        return refused(Refusal(status, tag, text, headers=headers))

    app.add_exception_handler(HTTPException, unknown)
    return app


def _add_plain_routes(app: FastAPI, services: Services, metrics: Metrics) -> None:
    announced = {"name": "sphynx", "version": __version__, "extensions": EXTENSIONS}
    described: dict[str, Any] = {}

    async def root(request: Request) -> Response:
        return json_response(announced)

    async def healthy(request: Request) -> Response:
        return json_response({"ok": True})

    async def ready(request: Request) -> Response:
        try:
            async with services.database.read() as connection:
                await connection.execute(sa.text("select 1"))
        except Exception:
            return json_response({"ok": False, "why": "the database does not answer"}, 503)
        return json_response({"ok": True})

    async def counted(request: Request) -> Response:
        return Response(await metrics.text(services.database), media_type="text/plain; version=0.0.4")

    async def openapi(request: Request) -> Response:
        if not described:
            described.update(document(ALL))
        return json_response(described)

    routes = {
        "/": root, "/healthz": healthy, "/readyz": ready, "/metrics": counted, "/openapi.json": openapi,
    }  # fmt: skip
    for path, handler in routes.items():
        app.add_route(path, handler, methods=["GET"])
