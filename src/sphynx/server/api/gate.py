"""Who asks, and whether they may ask now: bearer keys, a short cache of them, and a rate limit per key."""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic

from sphynx.server.refusals import Refusal, too_many, unauthorized
from sphynx.server.store.accounts import PREFIX, Actor, actor_of
from sphynx.server.store.database import Database

_CACHED = 4_096
_CACHE_S = 5.0
_WINDOW_S = 60.0


class Gate:
    """Knows keys that were good a moment ago. A revoked one stops working within 5 s."""

    def __init__(self, database: Database, rate_limit: int) -> None:
        self._database = database
        self._limit = rate_limit
        self._known: OrderedDict[str, tuple[float, Actor]] = OrderedDict()
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def actor(self, authorization: str | None) -> Actor:
        """Who the header speaks for; 401 when nobody, 429 when too often."""
        scheme, _, key = (authorization or "").partition(" ")
        key = key.strip()
        if scheme.lower() != "bearer" or not key:
            raise unauthorized("send an API key: authorization: Bearer anp_...")
        if not key.startswith(PREFIX) or len(key) > 200:
            raise unauthorized("this is not an API key of this server")
        actor = await self._look_up(key)
        self._count(actor.key_id)
        return actor

    async def _look_up(self, key: str) -> Actor:
        now = monotonic()
        cached = self._known.get(key)
        if cached is not None and now - cached[0] < _CACHE_S:
            return cached[1]
        self._known.pop(key, None)
        async with self._database.read() as connection:
            actor = await actor_of(connection, key)
        if actor is None:
            raise unauthorized("the API key is not valid")
        self._known[key] = (now, actor)
        while len(self._known) > _CACHED:
            self._known.popitem(last=False)
        return actor

    def _count(self, key_id: str) -> None:
        now = monotonic()
        since, count = self._counts.get(key_id, (now, 0))
        if now - since >= _WINDOW_S:
            since, count = now, 0
        if count >= self._limit:
            raise self._refusal(since, now)
        self._counts[key_id] = (since, count + 1)
        self._counts.move_to_end(key_id)
        while len(self._counts) > _CACHED:
            self._counts.popitem(last=False)

    @staticmethod
    def _refusal(since: float, now: float) -> Refusal:
        return too_many(max(1, round(_WINDOW_S - (now - since))))
