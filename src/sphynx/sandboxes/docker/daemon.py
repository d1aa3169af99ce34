"""Where a Docker or Podman daemon listens, and whether it answers. Works without the extra ``docker``."""

from __future__ import annotations

import http.client
import os
import socket
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

LIMIT_S = 2.0
_FRESH_S = 5.0
_known: dict[str, tuple[float, str]] = {}


def address(environ: Mapping[str, str]) -> str | None:
    """``DOCKER_HOST``, else the first usual socket there is; ``None`` when there is none."""
    named = environ.get("DOCKER_HOST", "").strip()
    if named:
        return named
    for path in _usual(environ):
        if path.is_socket():
            return f"unix://{path}"
    return None


def _usual(environ: Mapping[str, str]) -> list[Path]:
    own = [Path(environ["XDG_RUNTIME_DIR"])] if environ.get("XDG_RUNTIME_DIR") else []
    home = [Path(environ["HOME"])] if environ.get("HOME") else []
    return [
        Path("/run/docker.sock"), Path("/var/run/docker.sock"),
        *(folder / "docker.sock" for folder in own),
        *(folder / ".docker" / "run" / "docker.sock" for folder in home),
        *(folder / "podman" / "podman.sock" for folder in own),
        Path("/run/podman/podman.sock"),
    ]  # fmt: skip


def why_not(environ: Mapping[str, str]) -> str:
    """Why no container can be started from here; empty when one can. Asks again after a few seconds."""
    if find_spec("aiodocker") is None:
        return 'the extra "docker" is not installed: pip install "sphynx-sh[docker]"'
    there = address(environ)
    if there is None:
        return "no Docker or Podman socket was found, and DOCKER_HOST is not set"
    asked_at, known = _known.get(there, (0.0, ""))
    if asked_at and time.monotonic() - asked_at < _FRESH_S:
        return known
    answer = _ask(there)
    _known[there] = time.monotonic(), answer
    return answer


def _ask(there: str) -> str:
    parts = urlsplit(there)
    if parts.scheme not in ("unix", "tcp", "http"):
        return ""  # https and ssh are the client's business; it says what is wrong with the first container
    connection: http.client.HTTPConnection
    if parts.scheme == "unix":
        connection = _OverUnix(parts.path)
    else:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 2375, timeout=LIMIT_S)
    try:
        connection.request("GET", "/_ping")
        answer = connection.getresponse()
        return "" if answer.status < 500 else f"the daemon at {there} answers {answer.status}"
    except (OSError, http.client.HTTPException) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        return f"no daemon answers at {there}: {reason or type(error).__name__}"
    finally:
        connection.close()


class _OverUnix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(self._path)
