"""Small programs that stand in for npm, curl and the agents they install. They are real processes."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

NPM = """#!/bin/sh
# Writes down that it ran, takes its time, and "installs" a program that greets.
echo "$@" >> {folder}/npm.log
sleep 0.2
case "$*" in *broken*) echo "npm error code E404" >&2; echo "npm error 404 Not Found" >&2; exit 1;; esac
mkdir -p node_modules/.bin
for package; do case "$package" in node@*)
  printf '#!/bin/sh\\necho own-node "$@"\\n' > node_modules/.bin/node; chmod +x node_modules/.bin/node;;
esac; done
printf '#!/bin/sh\\necho hello from the agent "$@"\\n' > node_modules/.bin/acme
chmod +x node_modules/.bin/acme
"""
NODE = """#!/bin/sh
case "$1" in -e) case "$2" in *"n = {refused},"*) exit 1;; *) exit 0;; esac;; esac
exec /bin/sh "$@"
"""
CURL = """#!/bin/sh
# Answers the vendor's install script with a version, and any archive with the stand-in's.
echo "$@" >> {folder}/curl.log
case "$*" in
  *cursor.com/install*) echo 'URL="https://downloads.cursor.com/lab/2026.01.02-abcdef0/${{OS}}/${{ARCH}}/x.tar.gz"';;
  *gone*) echo "curl: (22) The requested URL returned error: 404" >&2; exit 22;;
  *) cp {folder}/package.tar.gz package.tar.gz;;
esac
"""


def put(folder: Path, name: str, text: str) -> Path:
    """Write an executable."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def npm_on_path(folder: Path, *, refused_node: str = "none") -> dict[str, str]:
    """A PATH whose npm and node are stand-ins; this node calls itself too old for ``refused_node``."""
    put(folder, "npm", NPM.format(folder=folder))
    put(folder, "node", NODE.format(refused=refused_node))
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def archive_on_path(folder: Path, program: str, text: str) -> dict[str, str]:
    """A PATH whose curl gives an archive that holds ``program``."""
    put(folder, "curl", CURL.format(folder=folder))
    with tarfile.open(folder / "package.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo(f"dist-package/{program}")
        entry.size, entry.mode = len(text.encode()), 0o755
        archive.addfile(entry, io.BytesIO(text.encode()))
    return {"PATH": f"{folder}:{os.environ['PATH']}"}
