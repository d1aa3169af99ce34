"""What looking at this machine gives: one finding per thing looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. ``off``: something optional is not there; ``missing``: no run works without it."""

    name: str
    state: Literal["ok", "off", "missing"]
    value: str
    note: str = ""
    hint: str = ""
