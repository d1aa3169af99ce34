"""What this machine knows of the agents: installs, node, keys by name, the models they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sphynx.cli.findings import Finding
from sphynx.engine.agents import expanded
from sphynx.harnesses.model_providers import PROVIDER_KEYS
from sphynx.pricing import catalogue
from sphynx.registry import harness_names, load_harness
from sphynx.sandboxes.local_root import LocalRoot, install_key

_SOLD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "codex": (("openai",), ("gpt-5", "gpt-6", "codex", "o3", "o4")),
    "claude": (("anthropic",), ("claude-",)),
    "gemini": (("google",), ("gemini-",)),
    "qwen": (("alibaba",), ("qwen",)),
    "cursor": (("cursor",), ("",)),
    "fx": (("vercel",), ("",)),
    "opencode": (tuple(PROVIDER_KEYS), ("",)),
}
"""Whose models an agent runs, and how the names of those begin that can use tools."""
_NAMES_PROVIDERS = ("opencode",)


@dataclass(frozen=True, slots=True)
class Models:
    """Model ids a harness takes; none means that nobody here knows, not that there are none."""

    harness: str
    models: list[str]
    source: str
    date: str
    """When the source came onto this machine, ``2030-01-31``; empty without a source."""


def models_of(harness: str, environ: Mapping[str, str]) -> Models:
    """From the program's own list where it is installed and prints one, else from a published table."""
    agent = load_harness(harness)
    own = getattr(agent, "catalogue", None)
    if own is not None:
        for version, folder in reversed(installs(harness, environ)):
            found = own.ask(str(folder / "run"))
            if found:
                day = datetime.fromtimestamp((folder / "run").stat().st_mtime, UTC)
                return Models(harness, found, f"{harness} {version}", f"{day:%Y-%m-%d}")
    sold = _SOLD.get(harness)
    listed = catalogue.listed(*sold, prefixed=harness in _NAMES_PROVIDERS) if sold else None
    return Models(harness, *((listed.models, listed.source, listed.date) if listed else ([], "", "")))


def installs(harness: str, environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    """Versions of an agent that are installed on this machine and their folders, the pinned one last."""
    root = LocalRoot(environ=environ).path / "harness"
    pinned = getattr(load_harness(harness), "version", "")
    lead = install_key(f"{harness}@")
    there = [
        (folder.name.removeprefix(lead), folder)
        for folder in sorted(root.glob(f"{lead}*"))
        if (folder / "run").exists()
    ]
    return sorted(there, key=lambda item: item[0] == pinned)


def findings(environ: Mapping[str, str], node: str | None) -> list[Finding]:
    """One line per agent that is installed by version. ``node`` is this machine's, if it has one."""
    agents = [(name, load_harness(name)) for name in harness_names()]
    return [_agent(name, agent, environ, node) for name, agent in agents if hasattr(agent, "recipe")]


def _agent(name: str, agent: Any, environ: Mapping[str, str], node: str | None) -> Finding:
    there = [version for version, _ in installs(name, environ)]
    value = f"{', '.join(there)} installed" if there else f"{agent.version} not installed yet"
    key, hint = _key_note(agent, environ)
    note = "   ".join(part for part in (_node_note(agent.recipe, node), key) if part)
    return Finding(name, "off" if hint else "ok", value, note, hint)


def _node_note(recipe: Any, node: str | None) -> str:
    wanted = getattr(recipe, "node", None)
    if wanted is None:
        return ""
    return f"node {wanted}: yours will do" if fits(node, wanted) else f"node {wanted}: it gets its own"


def fits(node: str | None, wanted: str) -> bool:
    """Whether a node version is at least the wanted one."""
    if node is None:
        return False
    numbers = [int(part) for part in node.split(".")[:2] if part.isdigit()]
    least = [int(part) for part in wanted.split(".")]
    return numbers[: len(least)] >= least


def _key_note(agent: Any, environ: Mapping[str, str]) -> tuple[str, str]:
    """Which key or login is there, by name only; and what to do when there is none."""
    found = [name for name in agent.key_names if environ.get(name, "").strip()]
    places = [path for place in agent.login_files if (path := expanded(place, environ))]
    signed_in = any(Path(path).is_file() for path in places)
    parts = [f"key {found[0]}"] if found else []
    parts += ["signed in: --use-login"] if signed_in else []
    if parts:
        return ", ".join(parts), ""
    if not agent.key_names:
        return "takes the key of the model's provider", ""
    return "no key", f"export {agent.key_names[0]}=..."
