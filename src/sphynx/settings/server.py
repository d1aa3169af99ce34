"""Which server to talk to, and as whom."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

HOSTED_URL = "https://api.sphynx.sh"
HOSTED_WEB_URL = "https://www.sphynx.sh"


def api_key(env: Mapping[str, str]) -> str | None:
    """``SPHYNX_API_KEY``; a blank one counts as none."""
    return env.get("SPHYNX_API_KEY", "").strip() or None


def base_url(env: Mapping[str, str]) -> str:
    """The server's address without a slash at its end: ``SPHYNX_BASE_URL`` or the hosted service."""
    return (env.get("SPHYNX_BASE_URL", "").strip() or HOSTED_URL).rstrip("/")


def web_url(env: Mapping[str, str]) -> str:
    """Where links to batches lead: ``SPHYNX_WEB_URL``, else the server's own address."""
    given = env.get("SPHYNX_WEB_URL", "").strip()
    if given:
        return given.rstrip("/")
    server = base_url(env)
    return HOSTED_WEB_URL if server == HOSTED_URL else server


def batch_link(env: Mapping[str, str], batch_id: str) -> str:
    """Where a batch can be looked at."""
    return f"{web_url(env)}/evals/{quote(batch_id, safe='')}"
