"""How many trials of one harness may run at a time, and how many may start in a while, over all workers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sphynx.errors import UsageError

VARIABLE = "SPHYNX_LIMITS"
_ONE = re.compile(r"([a-z][a-z0-9-]*)=([1-9][0-9]{0,5})(?:/([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True)
class Limit:
    """``at_once`` trials run at a time; ``starts`` begin within any ``seconds``. ``None``: no limit."""

    at_once: int | None = None
    starts: int | None = None
    seconds: int | None = None


def limits_from(environ: Mapping[str, str]) -> dict[str, Limit]:
    """The limits in ``SPHYNX_LIMITS``, by harness: ``codex=4 claude=2 claude=30/60``, with blanks or commas.

    ``NAME=N`` is how many run at a time, ``NAME=N/S`` how many start in S seconds. ``UsageError`` for others.
    """
    found: dict[str, Limit] = {}
    for part in environ.get(VARIABLE, "").replace(",", " ").split():
        said = _ONE.fullmatch(part)
        if said is None:
            raise UsageError(
                f"{VARIABLE}: cannot read {part!r}",
                hint="codex=4 for four at a time, codex=30/60 for 30 starts a minute",
            )
        name, count, seconds = said[1], int(said[2]), said[3]
        change = {"starts": count, "seconds": int(seconds)} if seconds else {"at_once": count}
        found[name] = replace(found.get(name, Limit()), **change)
    return found
