"""Looks at this machine: the programs, keys and disk space that runs use. Starts nothing that stays."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sphynx.cli import agents
from sphynx.cli.disk import size_of
from sphynx.cli.findings import Finding
from sphynx.cli.render.figures import bytes_size
from sphynx.sandboxes.local_root import LocalRoot
from sphynx.settings.names import KNOWN

_LIMIT_S = 5.0
_OLDEST_PYTHON = (3, 11)


def look(environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Every finding, in the order they are shown. Takes as long as the slowest one."""
    looks: list[Callable[[], Finding]] = [
        _python, _bash, _git, _node, _bubblewrap, _docker, lambda: _keys(environ), lambda: _disk(environ),
    ]  # fmt: skip
    with ThreadPoolExecutor(len(looks)) as pool:
        found = [future.result() for future in [pool.submit(item) for item in looks]]
    node = next((item.value for item in found if item.name == "node" and item.state == "ok"), None)
    return [*found, *agents.findings(environ, node)]


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Finding("python", "missing", version, "sphynx needs 3.11 or newer")
    return Finding("python", "ok", version)


def _bash() -> Finding:
    found = _version(["bash", "--version"])
    if found is None:
        return Finding("bash", "missing", "not found", "commands and agents run in it", _install("bash"))
    return Finding("bash", "ok", found)


def _git() -> Finding:
    found = _version(["git", "--version"])
    if found is None:
        return Finding("git", "off", "not found", "sources from repositories are off", _install("git"))
    return Finding("git", "ok", found)


def _node() -> Finding:
    found = _version(["node", "--version"])
    if found is None:
        return Finding("node", "off", "not found", "agents that come from npm are off", "https://nodejs.org")
    npm = _version(["npm", "--version"])
    return Finding(
        "node", "ok", found, f"npm {npm}" if npm else "npm not found: agents that come from npm are off"
    )


def _bubblewrap() -> Finding:
    if not sys.platform.startswith("linux"):
        return Finding("bubblewrap", "off", "Linux only", "--isolate is off")
    from sphynx.sandboxes import bubblewrap

    works, why = bubblewrap.available()
    if works:
        return Finding("bubblewrap", "ok", _version(["bwrap", "--version"]) or "works", "--isolate works")
    there = shutil.which("bwrap") is not None
    hint = "" if there else _install("bubblewrap")
    return Finding(
        "bubblewrap", "off", "does not work" if there else "not found", f"--isolate is off: {why}", hint
    )


def _docker() -> Finding:
    if shutil.which("docker") is None:
        return Finding("docker", "off", "not found")
    said = _run(["docker", "version", "--format", "{{.Server.Version}}"])
    if said is None or not said.strip():
        return Finding("docker", "off", "no daemon", "containers are off")
    return Finding("docker", "ok", said.strip().splitlines()[0])


def _keys(environ: Mapping[str, str]) -> Finding:
    there = [name for name, known in KNOWN.items() if known.secret and environ.get(name, "").strip()]
    if there:
        return Finding("keys", "ok", ", ".join(there))
    return Finding("keys", "off", "none", "agents that call a model need one", "export OPENAI_API_KEY=...")


def _disk(environ: Mapping[str, str]) -> Finding:
    root = LocalRoot(environ=environ).path
    used = bytes_size(size_of(root))
    free = shutil.disk_usage(_existing(root)).free
    note = f"{bytes_size(free)} free   sphynx clean says what can go"
    return Finding("disk", "ok", f"{used} in {home_relative(root)}", note)


def home_relative(path: Path) -> str:
    """``~/.sphynx/local`` for what lies below the home folder."""
    try:
        return "~/" + str(path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _install(package: str) -> str:
    return f"brew install {package}" if sys.platform == "darwin" else f"apt install {package}"


def _version(command: Sequence[str]) -> str | None:
    """The first version number a program prints; ``None`` when it is not there or does not work."""
    said = (_run(command) or "").strip()
    found = re.search(r"\d+(?:\.\d+)+", said)
    return found[0] if found else said.partition("\n")[0] or None


def _run(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
