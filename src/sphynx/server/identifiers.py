"""Ids and times as the wire has them."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 24


def new_id(prefix: str) -> str:
    """``<prefix>_`` and 24 random characters that are hard to misread."""
    return f"{prefix}_{''.join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))}"


def now_ms() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def iso(at_ms: int) -> str:
    """``2030-01-01T00:00:00.000Z``."""
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{at.isoformat()[:19]}.{at_ms % 1000:03d}Z"


def iso_or_none(at_ms: int | None) -> str | None:
    """The same for a time that may not have come yet."""
    return None if at_ms is None else iso(at_ms)


def from_iso(text: str) -> int:
    """Epoch milliseconds of an ISO instant."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
