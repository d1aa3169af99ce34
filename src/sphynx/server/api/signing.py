"""What a browser is given instead of a key: a session for one organization, or a link to one batch.

Both are words with a time and a mark that only this server's master key makes; nothing is stored, and neither
can be turned into a key.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass

from sphynx.server.vault import Vault

SESSION_S = 8 * 3_600
LINK_S = 7 * 24 * 3_600
LINK = "link"
"""The query parameter of a signed link."""


@dataclass(frozen=True, slots=True)
class Session:
    """Who signed in on a page: an organization, by one of its keys."""

    org_id: str
    key_id: str


class Signer:
    """Makes and reads both."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def session(self, org_id: str, key_id: str) -> str:
        """A cookie's value, good for eight hours."""
        return self._signed("session", f"{org_id}.{key_id}.{int(time.time()) + SESSION_S}")

    def session_of(self, cookie: str) -> Session | None:
        """Who a cookie speaks for; ``None`` when it is forged or too old."""
        told = self._told("session", cookie)
        org_id, _, rest = (told or "").partition(".")
        key_id, _, until = rest.partition(".")
        return Session(org_id, key_id) if _ahead(until) else None

    def link(self, batch_id: str) -> tuple[str, int]:
        """What makes a batch's address open to whoever has it, and until when (epoch seconds)."""
        until = int(time.time()) + LINK_S
        signed = self._signed("link", f"{batch_id}.{until}")
        return signed.removeprefix(f"{batch_id}."), until

    def opens(self, batch_id: str, link: str) -> bool:
        """Whether a link is one to this batch and still good."""
        told = self._told("link", f"{batch_id}.{link}")
        return told is not None and _ahead(told.rpartition(".")[2])

    def _signed(self, purpose: str, told: str) -> str:
        return f"{told}.{self._mark(purpose, told)}"

    def _told(self, purpose: str, signed: str) -> str | None:
        told, _, mark = signed.rpartition(".")
        same = hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark(purpose, told).encode())
        return told if same else None

    def _mark(self, purpose: str, told: str) -> str:
        secret = self._vault.derived(f"sphynx {purpose}")
        return hmac.new(secret, told.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _ahead(until: str) -> bool:
    return until.isascii() and until.isdigit() and int(until) > time.time()
