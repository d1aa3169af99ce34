"""Which harness names a variant may hold. The registry adds the ones it learns of."""

from __future__ import annotations

from collections.abc import Iterator

BUILT_IN = ("command", "codex", "claude", "opencode", "pi", "gemini", "qwen", "cursor", "fx")
LOCAL = ("oracle", "nop")
ENTRY_POINTS = "sphynx.harnesses"

_announced: set[str] = set()


def announce(name: str) -> None:
    """Let variants name a harness that was registered in this process."""
    _announced.add(name)


def known() -> list[str]:
    """Every name a variant may hold: built in, local, registered, or an installed package's entry point."""
    return [*BUILT_IN, *LOCAL, *sorted({*_announced, *_installed()} - {*BUILT_IN, *LOCAL})]


def is_known(name: str) -> bool:
    """Like ``name in known()``, reading the installed packages only when nothing else knows the name."""
    return name in BUILT_IN or name in LOCAL or name in _announced or name in set(_installed())


def _installed() -> Iterator[str]:
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        yield point.name
