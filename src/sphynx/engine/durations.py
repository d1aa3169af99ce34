"""Lengths of time in the short form people read."""

from __future__ import annotations


def short_duration(ms: float) -> str:
    """``1s``, ``1.5s``, ``5m``, ``1m30s``, ``1h``, ``1h5m``."""
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:g}s"
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", f"{left}s" if left else ""]
    return "".join(parts)
