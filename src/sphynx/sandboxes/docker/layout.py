"""Where things are inside a container. Standard library only."""

from __future__ import annotations

ROOT = "/trial"
WORKSPACE = f"{ROOT}/work"
HOME = f"{ROOT}/home"
TMP = f"{ROOT}/tmp"
LIBRARY = f"{ROOT}/lib"
"""What travels: the programs of ``inside`` and the rooms an eval file may import. Root's."""
BUNDLES = f"{ROOT}/bundles"
"""A folder in here holds the eval file's bundle while one of its functions runs."""
PACKAGES = f"{ROOT}/packages"
"""Packages the bundle requires, installed once. Root's."""
EGRESS = f"{ROOT}/egress"
"""Where the host's folder with the socket of the allowed hosts is mounted."""
SOCKET = "out.sock"
