#!/usr/bin/env python3
"""Install this checkout into a virtual environment, on a machine that has Python 3.11+ and git, nothing else.

    python3 scripts/bootstrap.py          the package alone
    python3 scripts/bootstrap.py --dev    the package and the locked tools that tests and checks need

Makes ``.venv`` in the checkout (``--venv DIR`` names another). Works inside another virtual environment, and
on Debian without ``python3-venv``: pip is then taken from the package index itself.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dev", action="store_true", help="also install what tests and checks need")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where the environment goes")
    options = parser.parse_args()
    if sys.version_info < (3, 11):  # noqa: UP036 (this file is what an older Python runs first)
        print(f"error: Python 3.11 or newer is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 1
    python = make_venv(options.venv)
    wanted = ["-e", str(ROOT)] + (["-r", str(ROOT / "requirements-dev.lock")] if options.dev else [])
    print(f"installing into {options.venv} ...", file=sys.stderr)
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    if done.returncode:
        print("error: pip could not install it; its reason stands above", file=sys.stderr)
        return 1
    return 0


def make_venv(folder: Path) -> Path:
    """Make the environment unless it is there and whole; return its interpreter."""
    python = folder / "bin" / "python"
    if works(python):
        return python
    base = Path(getattr(sys, "_base_executable", sys.executable))
    made = subprocess.run([base, "-m", "venv", "--clear", folder], capture_output=True, text=True)
    if made.returncode or not works(python):
        print("no ensurepip here, taking pip from the package index ...", file=sys.stderr)
        subprocess.run([base, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        with tempfile.TemporaryDirectory() as spare:
            wheel = fetch_pip(Path(spare))
            subprocess.run([python, f"{wheel}/pip", "install", "--quiet", str(wheel)], check=True)
    return python


def works(python: Path) -> bool:
    """Whether this interpreter starts and has pip."""
    if not python.exists():
        return False
    return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0


def fetch_pip(folder: Path) -> Path:
    """Download the newest pip wheel from the index that ``PIP_INDEX_URL`` names, PyPI by default."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    with urllib.request.urlopen(index) as answer:
        page = answer.read().decode()
    found = re.findall(r'href="([^"]+/(pip-(\d+)\.(\d+)(?:\.(\d+))?-py3-none-any\.whl)[^"]*)"', page)
    if not found:
        raise SystemExit(f"error: no pip at {index}")
    link, name, *_ = max(found, key=lambda hit: tuple(int(part or 0) for part in hit[2:]))
    target = folder / name
    urllib.request.urlretrieve(urllib.parse.urljoin(index, link), target)
    return target


if __name__ == "__main__":
    sys.exit(main())
