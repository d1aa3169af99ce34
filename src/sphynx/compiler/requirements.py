"""Pinned requirements for what an eval file imports from installed packages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from importlib.util import find_spec

OWN = "sphynx-sh"


@dataclass(slots=True)
class Requirements:
    """``pins`` are ``name==version`` lines, sorted; ``missing`` the modules no package accounts for."""

    pins: list[str] = field(default_factory=list[str])
    missing: list[str] = field(default_factory=list[str])


def pinned(modules: Iterable[str]) -> Requirements:
    """The installed packages behind ``modules`` (dotted names), at the versions that are installed here.

    Python's own modules and Sphynx need none. A module that cannot be found is left to the import to report;
    one that is found but belongs to no package is ``missing``.
    """
    names = sorted(name for name in modules if name.partition(".")[0] not in _built_in())
    if not names:
        return Requirements()
    owners = _owners()
    out = Requirements()
    pins: set[str] = set()
    for name in names:
        top = name.partition(".")[0]
        found = _belongs(name, owners.get(top, ()))
        pins.update(f"{package}=={metadata.version(package)}" for package in found if _plain(package) != OWN)
        if not owners.get(top) and top not in out.missing and _exists(top):
            out.missing.append(top)
    out.pins = sorted(pins)
    return out


def _belongs(name: str, packages: Sequence[str]) -> list[str]:
    """The packages that hold ``name``: several may share a namespace such as ``google``."""
    if len(packages) <= 1:
        return list(packages)
    path = name.replace(".", "/")
    wanted = {f"{path}.py", f"{path}/__init__.py"}
    return [
        package for package in packages if any(str(file) in wanted for file in metadata.files(package) or ())
    ]


@cache
def _built_in() -> frozenset[str]:
    return frozenset(sys.stdlib_module_names) | {"sphynx", "__main__"}


def _owners() -> Mapping[str, Sequence[str]]:
    return {name: sorted(set(packages)) for name, packages in metadata.packages_distributions().items()}


def _plain(package: str) -> str:
    return package.lower().replace("_", "-")


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
