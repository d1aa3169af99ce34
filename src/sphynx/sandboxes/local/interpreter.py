"""Starting fresh interpreters that find what this one finds, and nothing a trial has put in their way.

``-P`` keeps the current folder off the path, and ``-s`` the user's site folder, which follows HOME: a trial's
HOME is the agent's to write in. The places this process has from its user are added by name.
"""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
"""The folder of the ``sphynx`` package."""
_FIND = "import site, sys; [site.addsitedir(p) for p in sys.argv.pop(1).split(':') if p]; "
_OURS = "sys.path.insert(0, sys.argv.pop(1)); "
_PART = (
    "import importlib; "
    "importlib.import_module('sphynx.sandboxes.local.' + sys.argv[1]).main(int(sys.argv[2]))"
)
_HIDE = "from sphynx.sandboxes.local import killing; killing.refuse_tracing(); "
_GUEST = "import runpy; runpy.run_module('sphynx.guest', run_name='__main__', alter_sys=True)"


def search_folders() -> list[str]:
    """Folders with importable code that a fresh interpreter would not look into by itself."""
    added = os.environ.get("PYTHONPATH", "").split(":")
    folders = [os.path.abspath(folder) for folder in added if folder]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [folder for folder in dict.fromkeys(folders) if ":" not in folder]


def part_command(part: str, channel: int) -> list[str]:
    """Starts the part ``zygote`` or ``supervisor``, which speaks on descriptor ``channel``."""
    return [*_python(_PART), part, str(channel)]


def guest_command(*arguments: str, hidden: bool) -> list[str]:
    """``python -m sphynx.guest`` with ``arguments``; ``hidden`` from others of the same user (Linux)."""
    return [*_python(_HIDE + _GUEST if hidden else _GUEST), *arguments]


def _python(program: str) -> list[str]:
    folders = ":".join(search_folders())
    root = str(PACKAGE.parent)
    if root in site.getsitepackages():
        return [sys.executable, "-P", "-s", "-c", _FIND + program, folders]
    return [sys.executable, "-P", "-s", "-c", _FIND + _OURS + program, folders, root]
