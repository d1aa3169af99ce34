"""``/evals/<id>``: a plain page of one batch, behind an API key or a signed link, until there is a dashboard.

Who signs in gets a cookie for the key's organization, good for eight hours on this browser only, and no
longer than the key. Nothing on the page runs: what agents wrote is escaped, and the browser is told to load
nothing.
"""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sphynx.results import verdict
from sphynx.server.api.body import received
from sphynx.server.api.context import Services
from sphynx.server.api.gate import Gate
from sphynx.server.api.signing import LINK, SESSION_S, Signer
from sphynx.server.refusals import Refusal
from sphynx.server.store import results
from sphynx.server.store.accounts import key_works

COOKIE = "sphynx_session"
_FORM_BYTES = 4_096
_MARKS = {"passed": "✓", "failed": "✗", "void": "○", "running": "…", "queued": "·"}
_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}pre{margin:0;white-space:pre-wrap}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}"
)


class Pages:
    """Serves the page of a batch and its sign-in."""

    def __init__(self, services: Services, gate: Gate) -> None:
        self._services = services
        self._gate = gate
        self._signer = Signer(services.vault)

    async def show(self, request: Request) -> Response:
        """The batch, or the form that asks for a key."""
        batch_id = request.path_params["id"]
        async with self._services.database.read() as connection:
            org_id = await self._org_of(connection, request, batch_id)
            if org_id is None:
                return _page("Sign in", _form())
            try:
                batch = await results.batch(connection, org_id, batch_id, journals=False)
            except Refusal:
                return _page("Not found", f"<p>There is no such batch for this key.</p>{_form()}", 404)
        return _page(f"Batch {batch['id']}", _batch(batch))

    async def sign_in(self, request: Request) -> Response:
        """Take the key of the form; a good one is not kept, only its organization is."""
        if not _same_site(request):
            return _page("Refused", f"<p>This form was sent from another site.</p>{_form()}", 403)
        try:
            body = await received(request, _FORM_BYTES)
            key = parse_qs(body.decode("utf-8", "replace")).get("key", [""])[0]
            actor = await self._gate.actor(f"Bearer {key}")
        except Refusal as refusal:
            return _page("Sign in", f"<p>{escape(refusal.message)}</p>{_form()}", refusal.status)
        if not actor.may("evals:read"):
            return _page("Sign in", f"<p>This key may not read evals.</p>{_form()}", 403)
        response = RedirectResponse(request.url.path, 303, headers=_HEADERS)
        response.set_cookie(
            COOKIE, self._signer.session(actor.org_id, actor.key_id), max_age=SESSION_S, httponly=True,
            samesite="lax", path="/evals/", secure=request.url.scheme == "https",
        )  # fmt: skip
        return response

    async def _org_of(self, connection: AsyncConnection, request: Request, batch_id: str) -> str | None:
        """The organization whose batches may be shown, or whose this one is when the link says so."""
        link = request.query_params.get(LINK)
        if link is not None and self._signer.opens(batch_id, link):
            return await results.owner(connection, batch_id)
        session = self._signer.session_of(request.cookies.get(COOKIE, ""))
        if session is None or not await key_works(connection, session.key_id):
            return None
        return session.org_id


def _same_site(request: Request) -> bool:
    """A form counts only from a page of ours: nobody can sign a visitor in as somebody else."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _page(title: str, body: str, status: int = 200) -> Response:
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style><h1>{escape(title)}</h1>{body}</html>"
    )
    return Response(text, status, _HEADERS, media_type="text/html")


def _form() -> str:
    return (
        '<form method="post"><label>API key <input name="key" type="password" autocomplete="off" required>'
        "</label> <button>Show</button></form>"
    )


def _batch(batch: dict[str, Any]) -> str:
    failure = f": {batch['failure']}" if batch["failure"] else ""
    rows = "".join(_run(run) for run in batch["runs"])
    return (
        f"<p>{escape(batch['status'] + failure)}, started {escape(batch['startedAt'])}</p>"
        f"<table><tr><th>Case</th><th>Variant</th><th>Trials</th><th>Verdicts</th></tr>{rows}</table>"
    )


def _run(run: dict[str, Any]) -> str:
    variant = run["variant"]
    label = f"{variant['harness']}/{variant['model']}" + (
        f"@{variant['profile']}" if variant["profile"] else ""
    )
    marks = " ".join(_MARKS.get(trial["status"], "?") for trial in run["trials"])
    told = "\n".join(line for trial in run["trials"] for line in _verdict(trial))
    cells = (run["case"]["name"], label, marks)
    shown = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return f"<tr>{shown}<td><pre>{escape(told)}</pre></td></tr>"


def _verdict(trial: dict[str, Any]) -> list[str]:
    if trial["status"] in ("queued", "running"):
        return []
    return verdict.lines(
        "timed_out" if trial["timed"] else trial["status"],
        validations=trial["validations"],
        verify_steps=trial["verifySteps"],
        void_fields=trial["voidFields"],
        failure=trial["failure"],
    )
