"""Addresses of local services that a local run hands to its trials: from env files and the shell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from sphynx.settings.names import RESERVED, SECRET_WORDS

FILES = (".env", ".env.local")
"""Read in this order from the folder the command runs in; later ones win, the shell wins over both."""

_NAME = re.compile(r"(?:.*_)?(?:URL|URI|HOST|PORT|ENDPOINT|ORIGIN|BASE)", re.DOTALL)
_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])"
_VALUE = re.compile(
    rf"(?:https?://{_HOST}(?::[0-9]{{1,5}})?(?:[/?#][^\s@]*)?|{_HOST}|[0-9]{{1,5}})?",
    re.IGNORECASE | re.ASCII,
)
_PLAIN_HOST = re.compile(r"localhost|[0-9]{1,5}|.*[.:].*", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_-]{20,}", re.ASCII)


def is_forwarded(name: str, value: str) -> bool:
    """Whether a variable is an address by its name **and** by its value.

    Names are, or end in ``_`` and, ``URL URI HOST PORT ENDPOINT ORIGIN BASE``; values an http(s) address
    without credentials, a host name, a port, or nothing. Names under ``SPHYNX_`` are our own.
    """
    if name.startswith(RESERVED):
        return False
    return _NAME.fullmatch(name) is not None and _VALUE.fullmatch(value) is not None


def forwarded(cwd: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The addresses of ``.env``, ``.env.local`` and the shell, later ones winning.

    A file that is not there, or cannot be read, adds nothing.
    """
    found: dict[str, str] = {}
    for values in (*(_file_values(cwd / name) for name in FILES), environ):
        found.update({name: value for name, value in values.items() if is_forwarded(name, value)})
    return found


def looks_secret(name: str, value: str) -> bool:
    """Whether a forwarded value must be redacted: it is no plain address, and name or value hint at a key."""
    if not value or _PLAIN_HOST.fullmatch(value) is not None:
        return False
    return any(word in name.upper() for word in SECRET_WORDS) or _TOKEN.fullmatch(value) is not None


def _file_values(path: Path) -> dict[str, str]:
    try:
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        return {}
    bindings = parse_stream(StringIO(text))
    return {b.key: b.value for b in bindings if b.key is not None and b.value is not None and not b.error}
