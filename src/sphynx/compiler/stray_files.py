"""What lies in a profile's folder and reaches no trial, most likely by mistake."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from sphynx.compiler.ignore import Rule, is_ignored

_ABOUT = ("readme", "license", "licence", "changelog", "notice")
_SHOWN = 3


def stray_files(
    folder: Path, known: Collection[str], levels: Sequence[tuple[str, Sequence[Rule]]]
) -> list[str]:
    """Entries of a profile's folder that are neither shipped nor read, folders with a ``/`` behind them.

    ``known`` are names the profile uses. Hidden entries, texts about the profile, and what a ``.gitignore``
    excludes are meant to stay behind; in a folder that also holds eval files everything may be.
    """
    with os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    if any(entry.name.endswith("_eval.py") for entry in listed):
        return []
    return [
        f"{entry.name}/" if entry.is_dir() else entry.name
        for entry in listed
        if entry.name not in known
        and not entry.name.startswith((".", "__"))
        and not entry.name.lower().startswith(_ABOUT)
        and not entry.name.endswith(".md")
        and not is_ignored(entry.name, entry.is_dir(), levels)
    ]


def told(names: Sequence[str], folder: str, *, command: bool) -> str:
    """The remark about stray entries: which they are, and the folder they belong in."""
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    verb, them = ("does", "it") if len(names) == 1 else ("do", "them")
    place = folder.rstrip("/")
    start = f"{place}/workspace/{', where its command starts' if command else ''}"
    return f"{shown} in {place}/ {verb} not reach a trial: move {them} to {start}, or to {place}/home/"
