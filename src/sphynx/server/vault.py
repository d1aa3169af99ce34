"""Secrets at rest: AES-256-GCM under a master key, each value tied to the place it is stored in."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sphynx.errors import SphynxError, UsageError

VARIABLE = "SPHYNX_MASTER_KEY"
FILE = "master.key"
_FORMAT = 1
_KEY_BYTES = 32
_NONCE_BYTES = 12
_NAME_BYTES = 4


class SealedError(SphynxError):
    """A stored secret that cannot be opened. The message names at most where it is, so anyone may see it."""


class Vault:
    """Seals with the first key and opens with any. A sealed value is format, key name, nonce, ciphertext."""

    def __init__(self, keys: Sequence[bytes], file: Path | None = None) -> None:
        """``file``: where the keys were read, and are read again when a value has a newer one."""
        self._keys = {_name(key): key for key in keys}
        self._first = keys[0]
        self._file = file

    def seal(self, text: str, place: str) -> bytes:
        """Encrypt ``text``; it opens only at the same ``place``."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._first).encrypt(nonce, text.encode("utf-8", "surrogatepass"), place.encode())
        return bytes([_FORMAT]) + _name(self._first) + nonce + sealed

    def open(self, sealed: bytes, place: str) -> str:
        """Decrypt; ``SealedError`` without any of the content when the key is gone or the value was moved."""
        start = 1 + _NAME_BYTES
        key = self._keys.get(sealed[1:start]) or self._read_again().get(sealed[1:start])
        if key is None or sealed[:1] != bytes([_FORMAT]):
            raise SealedError("a stored secret was sealed with a master key this server does not have")
        nonce, data = sealed[start : start + _NONCE_BYTES], sealed[start + _NONCE_BYTES :]
        try:
            return AESGCM(key).decrypt(nonce, data, place.encode()).decode("utf-8", "surrogatepass")
        except InvalidTag:
            raise SealedError("a stored secret cannot be opened: it was changed or moved") from None

    def _read_again(self) -> dict[bytes, bytes]:
        if self._file is not None:
            with suppress(OSError, UsageError):
                keys = _keys_in(self._file)
                self._keys = {**self._keys, **{_name(key): key for key in keys}}
                self._first = keys[0]
        return self._keys

    def derived(self, purpose: str) -> bytes:
        """32 bytes for another purpose, from which the key cannot be told."""
        return hmac.new(self._first, purpose.encode(), hashlib.sha256).digest()

    def is_current(self, sealed: bytes) -> bool:
        """Whether it was sealed with the newest key."""
        return sealed[1 : 1 + _NAME_BYTES] == _name(self._first)


def place(org_id: str, *parts: str) -> str:
    """Where a secret is stored, as ``seal`` binds it."""
    return "\0".join((org_id, *parts))


def open_vault(data: Path, environ: Mapping[str, str]) -> Vault:
    """The vault of a server: ``SPHYNX_MASTER_KEY`` (one or more keys, newest first, with commas), else the
    key file below ``data``, which is made at first use and only its owner may read.
    """
    given = environ.get(VARIABLE, "").strip()
    if given:
        return Vault([_decoded(part, VARIABLE) for part in given.split(",")])
    path = data / FILE
    if not path.exists():
        _write(path, [secrets.token_bytes(_KEY_BYTES)])
    if path.stat().st_mode & 0o077:
        raise UsageError(f"{path} can be read by others", hint=f"chmod 600 {path}")
    return Vault(_keys_in(path), path)


def add_key(data: Path, environ: Mapping[str, str]) -> Vault:
    """Put a new key before those in the key file, and give the vault with all of them."""
    if environ.get(VARIABLE, "").strip():
        raise UsageError(
            f"the master key comes from {VARIABLE}", hint="put a new key and a comma before the old one there"
        )
    open_vault(data, {})
    path = data / FILE
    _write(path, [secrets.token_bytes(_KEY_BYTES), *_keys_in(path)])
    return open_vault(data, {})


def keep_first(data: Path) -> None:
    """Forget every key but the newest: nothing is sealed with the others any more."""
    path = data / FILE
    _write(path, _keys_in(path)[:1])


def _keys_in(path: Path) -> list[bytes]:
    keys = [_decoded(line, str(path)) for line in path.read_text("ascii", "replace").split()]
    return keys or [_decoded("", str(path))]


def _write(path: Path, keys: Sequence[bytes]) -> None:
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(b"".join(base64.b64encode(key) + b"\n" for key in keys))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def _decoded(text: str, where: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise UsageError(f"{where} does not hold a master key", hint="it is 32 random bytes in base64")
    return key


def _name(key: bytes) -> bytes:
    return hashlib.sha256(b"sphynx key name" + key).digest()[:_NAME_BYTES]
