"""Which agents a run starts: the versions that were asked for, and the logins of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sphynx.engine.options import LocalOptions, PlannedSuite
from sphynx.engine.other_agents import other_harnesses
from sphynx.errors import UsageError
from sphynx.registry import load_harness

VERSIONS_KEY = "harnessVersions"
"""Where ``batch.json`` keeps the versions that were asked for on the command line."""


def choose_versions(planned: Sequence[PlannedSuite], wanted: Mapping[str, str]) -> None:
    """Give the planned variants the wanted versions; ``UsageError`` for an agent that none of them runs."""
    there = [variant.variant for suite in planned for variant in suite.variants]
    names = list(dict.fromkeys(variant.harness for variant in there))
    for name, version in wanted.items():
        if name not in names:
            raise UsageError(
                f"--harness-version {name}={version}: no chosen variant runs {name}",
                hint="there are: " + ", ".join(names),
            )
        if not hasattr(load_harness(name), "recipe"):
            raise UsageError(f"--harness-version {name}={version}: {name} is not installed by version")
    for variant in there:
        if variant.harness in wanted:
            variant.harness_version = wanted[variant.harness]
    for suite in planned:
        used = {name: wanted[name] for name in names if name in wanted and _runs(suite, name)}
        if used:
            suite.x[VERSIONS_KEY] = used


def _runs(suite: PlannedSuite, name: str) -> bool:
    return any(variant.variant.harness == name for variant in suite.variants)


def with_logins(planned: Sequence[PlannedSuite], options: LocalOptions, notes: list[str]) -> LocalOptions:
    """The options with the logins the chosen agents keep on this machine; a note for each that has none."""
    if not options.use_login:
        return options
    found: dict[str, str] = {}
    for name in _each_agent(planned):
        agent = load_harness(name)
        places: Sequence[str] = getattr(agent, "login_files", ())
        if not places or agent.login_name() in options.env:
            continue
        files = [Path(path) for place in places if (path := expanded(place, options.env))]
        text = next((text for file in files if (text := _text(file))), None)
        if text is None:
            notes.append(f"--use-login: {name} is not signed in on this machine ({files[0]})")
        else:
            found[agent.login_name()] = text
    return replace(options, env={**options.env, **found}) if found else options


def _each_agent(planned: Sequence[PlannedSuite]) -> list[str]:
    """Every harness that runs, judges or plays a person, once."""
    names: dict[str, None] = {}
    for suite in planned:
        names.update(dict.fromkeys(variant.variant.harness for variant in suite.variants))
        for case in suite.cases:
            names.update(dict.fromkeys(other_harnesses(case.case)))
    return list(names)


def expanded(place: str, env: Mapping[str, str]) -> str:
    """A path with ``~`` and ``$NAME/`` at its front filled in; empty where the variable is not set."""
    if place.startswith("$"):
        name, _, rest = place[1:].partition("/")
        return str(Path(env[name], rest)) if env.get(name) else ""
    return str(Path(env.get("HOME") or Path.home(), place.removeprefix("~/")))


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def versions_of(x: Mapping[str, Any]) -> dict[str, str]:
    """The versions a recorded batch was started with."""
    kept = x.get(VERSIONS_KEY)
    return {str(name): str(version) for name, version in kept.items()} if isinstance(kept, dict) else {}
