"""The models an agent's own program lists, asked without a network, an account or the user's home."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

LIMIT_S = 60


@dataclass(frozen=True, slots=True)
class Catalogue:
    """``arguments`` make the program print its list, ``read`` takes the ids out of what it prints."""

    arguments: Sequence[str]
    read: Callable[[str], list[str]]
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    def ask(self, program: str) -> list[str]:
        """The ids ``program`` knows, in its own order; empty when it does not say."""
        with tempfile.TemporaryDirectory(prefix="sphynx-models-") as home:
            env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "TMPDIR": home, **self.env}
            try:
                done = subprocess.run(
                    [program, *self.arguments], env=env, cwd=home, stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False,
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired):
                return []
        return list(dict.fromkeys(self.read(done.stdout))) if done.returncode == 0 else []


class _Slug(msgspec.Struct):
    slug: str
    visibility: str = "list"


class _Slugs(msgspec.Struct):
    models: list[_Slug]


def slugs(text: str) -> list[str]:
    """``{"models": [{"slug": ...}]}``; hidden ones are left out."""
    try:
        found = msgspec.json.decode(text.encode("utf-8", "replace"), type=_Slugs)
    except msgspec.DecodeError:
        return []
    return [model.slug for model in found.models if model.visibility == "list"]


def paths(text: str) -> list[str]:
    """One ``provider/model`` a line."""
    return [line.strip() for line in text.splitlines() if "/" in line and " " not in line.strip()]


def table(text: str) -> list[str]:
    """A table whose first columns are ``provider`` and ``model``."""
    rows = [line.split() for line in text.splitlines()]
    head = next((number for number, row in enumerate(rows) if row[:2] == ["provider", "model"]), None)
    return [] if head is None else [f"{row[0]}/{row[1]}" for row in rows[head + 1 :] if len(row) > 2]
