"""The ES modules of the wire: take out the Python bundle that ours carry."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import json
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from sphynx.compiler.bundle import MANIFEST, TREE, Contents

MAX_UNPACKED = 64_000_000
"""Bytes of a bundle once it is unpacked."""

_HEAD = re.compile(r'^const op = ("\w+"), bundle = "([A-Za-z0-9+/=]*)";$', re.MULTILINE)
_REQUEST = re.compile(r'^put\("request\.json", ("(?:[^"\\\n]|\\.)*")\);$', re.MULTILINE)


class NotPython(Exception):
    """A module that carries no Python bundle of ours; its text says why."""


@dataclass(frozen=True, slots=True)
class PythonModule:
    """What a module runs: ``request`` has ``op``, ``suite`` and ``case``; ``packed`` is the bundle."""

    request: dict[str, Any]
    packed: bytes

    @property
    def digest(self) -> str:
        """Names the packed bundle."""
        return hashlib.sha256(self.packed).hexdigest()[:32]


def read_module(source: str) -> PythonModule:
    """The bundle of a module. Nothing of it is run. ``NotPython`` for any other program."""
    head, asked = _HEAD.search(source), _REQUEST.search(source)
    if head is None or asked is None:
        raise NotPython("it is not a bundle made by the Python package")
    try:
        packed = base64.b64decode(head[2], validate=True)
        request = json.loads(json.loads(asked[1]))
    except (binascii.Error, ValueError) as error:
        raise NotPython(f"it cannot be read: {error}") from None
    suite = request.get("suite") if isinstance(request, dict) else None
    if not isinstance(suite, int) or isinstance(suite, bool) or not isinstance(request.get("case"), str):
        raise NotPython("it does not say which case it is for")
    return PythonModule(request, packed)


def unpack(packed: bytes) -> Contents:
    """The project files and manifest of a packed bundle; ``NotPython`` for one that is broken or unsafe."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(_inflated(packed)))
        names = [info.filename for info in archive.infolist()]
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise NotPython("its files are compressed twice")
        manifest = json.loads(archive.read(MANIFEST))
        prefix = f"{TREE}/"
        files = {
            name.removeprefix(prefix): archive.read(name)
            for name in names
            if name.startswith(prefix) and not name.endswith("/")
        }
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, NotImplementedError) as error:
        raise NotPython(f"its bundle cannot be read: {error}") from None
    if not isinstance(manifest, dict) or not _fits(manifest):
        raise NotPython("its manifest is not one this version knows")
    paths = [*files, manifest["entry"], *manifest["roots"]]
    unsafe = [path for path in paths if not _stays_inside(path)]
    if unsafe:
        raise NotPython(f"a file would be written outside: {unsafe[0][:100]!r}")
    return Contents(manifest, files)


def _inflated(packed: bytes) -> bytes:
    reader = zlib.decompressobj()
    data = reader.decompress(packed, MAX_UNPACKED)
    if reader.unconsumed_tail:
        raise NotPython(f"its bundle has more than {MAX_UNPACKED:,} bytes")
    return data


def _fits(manifest: dict[str, Any]) -> bool:
    texts = all(isinstance(manifest.get(name), str) for name in ("entry", "module"))
    roots = manifest.get("roots")
    return texts and isinstance(roots, list) and all(isinstance(root, str) for root in roots)


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(path) and not path.startswith("/") and ".." not in parts and "\0" not in path
