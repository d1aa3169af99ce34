"""Packages a bundle requires: those the image lacks are installed once, for all functions of the trial."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from importlib import metadata

from sphynx.sandboxes.docker import layout

_LIMIT_S = 600


def install(folder: str) -> str:
    """Install what the bundle in ``folder`` requires and is not there; gives why that failed, or nothing.

    Runs as root and away from the trial's folders, so that neither the agent's settings for pip nor the agent
    decide what is installed.
    """
    with open(os.path.join(folder, "bundle.json"), encoding="utf-8") as source:
        wanted = [line for line in json.load(source)["requirements"] if not _there(line)]
    if not wanted:
        return ""
    with open(f"{layout.ROOT}/packages.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = [line for line in wanted if not _there(line)]
        return _install(wanted) if wanted else ""


def _install(wanted: list[str]) -> str:
    uv = shutil.which("uv")
    if uv:
        command = [uv, "pip", "install", "--python", sys.executable]
    else:
        command = [sys.executable, "-I", "-m", "pip", "install", "--disable-pip-version-check"]
    try:
        done = subprocess.run(
            [*command, "--quiet", "--target", layout.PACKAGES, *wanted],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/", timeout=_LIMIT_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"cannot install {' '.join(wanted)}: {error}"
    if done.returncode == 0:
        return ""
    lines = [line.strip() for line in done.stderr.splitlines()]
    said = [line for line in lines if line and not line.startswith("hint:")] or ["no reason given"]
    return f"cannot install {' '.join(wanted)}: {said[-1]}"


def _there(line: str) -> bool:
    name, _, version = line.partition("==")
    found = metadata.distributions(name=name, path=[*sys.path, layout.PACKAGES])
    return any(one.version == version for one in found)
