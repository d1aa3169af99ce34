"""Names of plug-ins and where they live. Nothing is imported until it is asked for."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Any

from sphynx.errors import UsageError
from sphynx.suite import harness_names as variant_names

SANDBOXES: dict[str, str] = {
    "local": "sphynx.sandboxes.local:LocalBackend",
    "docker": "sphynx.sandboxes.docker:DockerBackend",
}

HARNESSES: dict[str, str] = {
    "command": "sphynx.harnesses.command:CommandHarness",
    "oracle": "sphynx.harnesses.oracle:OracleHarness",
    "nop": "sphynx.harnesses.nop:NopHarness",
    "codex": "sphynx.harnesses.codex:CodexHarness",
    "claude": "sphynx.harnesses.claude:ClaudeHarness",
    "gemini": "sphynx.harnesses.gemini:GeminiHarness",
    "qwen": "sphynx.harnesses.qwen:QwenHarness",
    "opencode": "sphynx.harnesses.opencode:OpenCodeHarness",
    "pi": "sphynx.harnesses.pi:PiHarness",
    "cursor": "sphynx.harnesses.cursor:CursorHarness",
    "fx": "sphynx.harnesses.fx:FxHarness",
}
PYTHON = "sphynx.harnesses.python_agent:PythonHarness"
"""What runs ``python/<name>``: a variant whose harness is a function."""

_registered: dict[str, Any] = {}


def register_harness(name: str, factory: Any) -> None:
    """Make ``harness=name`` run ``factory()``, a class or function that gives a ``contracts.Harness``."""
    _registered[name] = factory
    variant_names.announce(name)


def harness_names() -> list[str]:
    """Every harness that can run on this machine's installation, sorted."""
    found = {point.name for point in entry_points(group="sphynx.harnesses")}
    return sorted({*HARNESSES, *_registered, *found})


def load_harness(name: str) -> Any:
    """The factory behind a harness name; ``UsageError`` with the known names when there is none."""
    if name in _registered:
        return _registered[name]
    if name.startswith("python/"):
        return load(PYTHON)
    if name in HARNESSES:
        return load(HARNESSES[name])
    for point in entry_points(group="sphynx.harnesses"):
        if point.name == name:
            return point.load()
    raise UsageError(f'harness "{name}" cannot run here', hint="it can: " + ", ".join(harness_names()))


def load_sandbox(name: str) -> Any:
    """The backend class behind a sandbox name."""
    if name not in SANDBOXES:
        raise UsageError(f'sandbox "{name}" cannot run here', hint="it can: " + ", ".join(sorted(SANDBOXES)))
    return load(SANDBOXES[name])


def load(target: str) -> Any:
    """Import ``module:attribute``."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
