"""Numbers as people read them: durations, tokens, money, rates, counts."""

from __future__ import annotations

from datetime import datetime


def duration(ms: float) -> str:
    """``31ms``, ``0.3s``, ``41.2s``, ``5m00s``, ``1h02m``."""
    if round(ms) < 100:
        return f"{max(0, round(ms))}ms"
    seconds = ms / 1000
    if round(seconds, 1) < 60:
        return f"{seconds:.1f}s"
    return elapsed(ms)


def elapsed(ms: float) -> str:
    """Whole seconds, for a clock: ``42s``, ``3m05s``, ``1h02m``."""
    seconds = round(max(0.0, ms) / 1000)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"


def tokens(count: int) -> str:
    """``412``, ``12k``, ``1.4M``."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def money(usd: float) -> str:
    """Dollars with two decimals; what is more than nothing never shows as nothing."""
    if 0 < usd < 0.005:
        return "<$0.01"
    return f"${usd:,.2f}"


def percent(rate: float) -> str:
    """A whole percent that says 0 or 100 only when it is exactly that."""
    whole = round(rate * 100)
    if whole == 100 and rate < 1:
        whole = 99
    if whole == 0 and rate > 0:
        whole = 1
    return f"{whole}%"


def bytes_size(count: float) -> str:
    """``512 B``, ``12 kB``, ``1.2 GB`` (decimal units)."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "kB") or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def plural(count: int, word: str) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def number(value: float) -> str:
    """A measured number with at most four significant digits."""
    return f"{value:,.4g}" if abs(value) < 1_000_000 else f"{value:,.0f}"


def span_ms(start: str, end: str) -> float:
    """Milliseconds between two ISO 8601 moments."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() * 1000
