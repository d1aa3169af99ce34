"""The HTTP connection behind both clients."""

from __future__ import annotations

import os

import httpx

from sphynx._version import __version__
from sphynx.client.protocol import FIRST_CONTACT_S, Server
from sphynx.client.steps import Failure, Reply
from sphynx.errors import UsageError
from sphynx.settings.server import api_key as key_from
from sphynx.settings.server import base_url as url_from

_AGENT = f"sphynx-python/{__version__}"


def server_from(api_key: str | None, base_url: str | None) -> Server:
    """The server to talk to; ``UsageError`` when there is no key or the address is none."""
    key = (api_key or "").strip() or key_from(os.environ)
    if key is None:
        raise UsageError("SPHYNX_API_KEY is not set", hint="export SPHYNX_API_KEY=..., or pass api_key=")
    if not key.isascii() or any(char.isspace() for char in key):
        raise UsageError("the API key has characters no key has", hint="copy it again")
    address = (base_url or "").strip().rstrip("/") or url_from(os.environ)
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise UsageError(f"{address!r} is not an address: {error}", hint="check SPHYNX_BASE_URL") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{address!r} is not an address", hint="it begins with https:// or http://")
    if url.userinfo:
        raise UsageError("the server's address has a password in it", hint="use SPHYNX_API_KEY instead")
    return Server(address, key)


def connect(server: Server, given: httpx.Client | None) -> httpx.Client:
    """The given client, or one of our own. Redirects are not followed: the key is for this server only."""
    if given is not None:
        given.base_url = httpx.URL(server.base_url)
        return given
    return httpx.Client(base_url=server.base_url, headers={"user-agent": _AGENT})


def async_connect(server: Server, given: httpx.AsyncClient | None) -> httpx.AsyncClient:
    """The same for async code."""
    if given is not None:
        given.base_url = httpx.URL(server.base_url)
        return given
    return httpx.AsyncClient(base_url=server.base_url, headers={"user-agent": _AGENT})


def limits(timeout_s: float | None) -> httpx.Timeout:
    """A connection must stand within 5 s whatever the request."""
    return httpx.Timeout(timeout_s, connect=min(FIRST_CONTACT_S, timeout_s or FIRST_CONTACT_S))


def reply(response: httpx.Response) -> Reply:
    """A response as plain values."""
    return Reply(response.status_code, response.content, dict(response.headers))


def failure(error: httpx.TransportError) -> Failure:
    """Why there was no response."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return Failure(_said(error), "connect")
    if isinstance(error, httpx.TimeoutException):
        return Failure("no answer in time", "timeout")
    return Failure(_said(error), "dropped")


def _said(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
