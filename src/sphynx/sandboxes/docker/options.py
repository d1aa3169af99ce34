"""How containers are made: image, limits, network. Plain values, readable without the extra ``docker``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sphynx.errors import UsageError

IMAGE = "sphynx-agent"
OPEN = "open"
NONE = "none"
_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_LEAST_MEMORY = 32 * 2**20
_HOST = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True)
class Network:
    """``mode``: ``open``, ``none``, ``hosts`` (only those listed, through the relay) or a network's name."""

    mode: str = OPEN
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerOptions:
    """What every container of a backend gets. ``memory`` in bytes, ``None`` where nothing is limited."""

    image: str = IMAGE
    memory: int | None = 4 * 2**30
    cpus: float | None = 2.0
    pids: int | None = 2_048
    network: Network = field(default_factory=Network)
    lifetime_s: int = 6 * 3_600
    """After this a container ends by itself, whoever has forgotten it."""


def from_json(value: Mapping[str, Any] | None) -> ContainerOptions | None:
    """Options from what ``dataclasses.asdict`` and JSON made of them."""
    if value is None:
        return None
    network = Network(value["network"]["mode"], tuple(value["network"]["hosts"]))
    return ContainerOptions(**{**value, "network": network})


def memory(text: str) -> int | None:
    """Bytes of ``512m`` or ``4g``; ``0`` means no limit. ``UsageError`` for anything else."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([bkmg]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise UsageError(f'memory must be a number and a unit, not "{text}"', hint="such as 512m or 4g")
    size = int(float(found[1]) * _UNITS[found[2]])
    if 0 < size < _LEAST_MEMORY:
        raise UsageError(f'memory "{text}" is too little for any agent', hint="such as 512m or 4g")
    return size or None


def network(text: str) -> Network:
    """``open``, ``none``, ``network:NAME`` for one of the engine's networks, or hosts with commas between.

    A host may begin with ``*.`` and end with a port; without one it is reached on 80 and 443.
    """
    text = text.strip()
    if text in (OPEN, NONE):
        return Network(text)
    if text.startswith("network:") and len(text) > len("network:"):
        return Network(text.partition(":")[2])
    hosts = tuple(part.strip().lower() for part in text.split(",") if part.strip())
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise UsageError(
                f'"{host}" is no host',
                hint="--network open, none, or hosts such as api.openai.com,*.debian.org",
            )
    if not hosts:
        raise UsageError("the network is empty", hint="--network open, none, or hosts with commas between")
    return Network("hosts", hosts)
