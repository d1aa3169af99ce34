"""The list of ``sphynx clean``."""

from __future__ import annotations

from collections.abc import Sequence

from sphynx.cli.disk import Entry
from sphynx.cli.machine import home_relative
from sphynx.cli.render import figures
from sphynx.cli.render.problems import relative
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import cut_left, pad, width

_TITLES = {
    "batch": "recorded batches",
    "skill": "copies of skills",
    "harness": "agent installs",
    "cache": "case caches",
    "packages": "download caches",
}
_DAY_S = 86_400.0


def entry_lines(entries: Sequence[Entry], style: Style) -> list[str]:
    """Each kind with its size, then its entries with size and age."""
    lines: list[str] = []
    for kind, title in _TITLES.items():
        own = [entry for entry in entries if entry.kind == kind]
        if not own:
            continue
        total = figures.bytes_size(sum(entry.bytes for entry in own))
        folder = (
            relative(str(own[0].path.parent))
            if kind in ("batch", "skill")
            else home_relative(own[0].path.parent)
        )
        lines.append(f"{style.paint(title, 'bold')}   {total} in {folder}")
        names = [cut_left(entry.path.name, style.width - 40) for entry in own]
        sizes = [figures.bytes_size(entry.bytes) for entry in own]
        room, most = max(map(width, names)), max(map(len, sizes))
        for entry, name, size in zip(own, names, sizes, strict=True):
            busy = "   may be running, stays" if entry.busy else ""
            lines.append(f"  {pad(name, room)}   {size:>{most}}   {_age(entry.age_s)}{busy}")
    return lines or ["nothing to remove"]


def _age(seconds: float) -> str:
    days = int(seconds // _DAY_S)
    if days < 1:
        return "used today"
    return f"unused for {figures.plural(days, 'day')}"
