"""What every command that talks to a server shares: the client, JSON on stdout, rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sphynx.cli.out import Out, stdout
from sphynx.cli.render.text import one_line
from sphynx.client import Sphynx


def client() -> Sphynx:
    """The client of ``SPHYNX_API_KEY`` and ``SPHYNX_BASE_URL``."""
    return Sphynx()


def print_json(value: Any) -> None:
    """An answer as the server gave it, indented by two."""
    stdout().line(json.dumps(plain(value), indent=2, ensure_ascii=False))


def plain(value: Any) -> Any:
    """Wire models as JSON values."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.wire() if hasattr(value, "wire") else value


def rows(lines: Iterable[Sequence[object]], out: Out | None = None) -> None:
    """Tab-separated rows, which a shell can cut."""
    out = out or stdout()
    for line in lines:
        out.line("\t".join(one_line(str(part)) for part in line))
