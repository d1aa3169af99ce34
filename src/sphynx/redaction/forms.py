"""The forms one secret takes on its way through programs: escaped, encoded, wrapped."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

_LEAST_BASE64 = 10
_LEAST_LINE = 20
_DOUBLE_QUOTED = re.compile(r'[\\"$`]')
_BARE_WORD = re.compile(r"""[ \t\n'"\\|&;()<>!{}*\[\]?^$`,]|^[#~]|(?<=[:=])~""")
_ANSI_C = {
    "'": "\\'", "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\x1b": "\\E", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t", "\v": "\\v",
}  # fmt: skip
_UNWANTED_BITS = (0, 2, 3)
"""Leading base64 characters that depend on what stands before the secret, by its offset modulo 3."""


def forms(secret: str) -> set[str]:
    """Every text that gives ``secret`` away: itself, and its forms in the usual languages and encodings.

    They are JSON, URL, HTML, shell, Python, SQL, CSV, hex and base64. Base64 is taken at all three
    alignments, so the secret is found in the middle of a longer encoded text. A secret of several lines is
    also known by each long line that has no blank in it.
    """
    found = {secret}
    found.update(_escaped(secret))
    found.update(_printed(secret))
    found.update(_url(secret))
    found.update(_base64(secret))
    if "\n" in secret:
        for line in secret.split("\n"):
            line = line.strip()
            if len(line) >= _LEAST_LINE and not line.startswith("-----") and not any(map(str.isspace, line)):
                found.update(forms(line))
    return found


def _escaped(secret: str) -> Iterator[str]:
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        yield twice
        yield json.dumps(twice, ensure_ascii=ascii_only)[1:-1]
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    yield html.escape(secret, quote=False).replace('"', "&quot;")
    yield secret.replace("'", "'\\''")
    yield secret.replace("'", "'\"'\"'")


def _printed(secret: str) -> Iterator[str]:
    """What programs print of a variable: ``declare -p``, ``printf %q``, ``repr``, SQL, CSV, a hex dump."""
    data = _bytes(secret)
    for inside in (_DOUBLE_QUOTED, _BARE_WORD):
        yield inside.sub(r"\\\g<0>", secret)
    for quoted in (repr(secret), ascii(secret), repr(data)):
        yield quoted[quoted.index(quoted[-1]) + 1 : -1]
    yield repr(secret + "'\"")[1:-4]
    yield secret.replace("\\", "\\\\")
    yield _ansi_c(secret)
    yield _ansi_c(data.decode("latin-1"))
    for mark in ("'", '"'):
        yield secret.replace(mark, mark * 2)
    yield data.hex()
    yield data.hex().upper()


def _ansi_c(text: str) -> str:
    """Inside ``$'...'`` of a shell; in the C locale bytes that are not ASCII are octal."""
    return "".join(
        _ANSI_C.get(char) or (char if 32 <= ord(char) < 127 or ord(char) > 255 else f"\\{ord(char):03o}")
        for char in text
    )


def _url(secret: str) -> Iterator[str]:
    data = _bytes(secret)
    for text in (quote(data, safe=""), quote(data), quote(data, safe="!'()*"), quote_plus(data)):
        yield text
        yield _lower_hex(text)


def _lower_hex(text: str) -> str:
    head, *rest = text.split("%")
    return head + "".join(f"%{piece[:2].lower()}{piece[2:]}" for piece in rest)


def _base64(secret: str) -> Iterator[str]:
    data = _bytes(secret)
    for encode in (base64.standard_b64encode, base64.urlsafe_b64encode):
        yield encode(data).decode()
        for offset, unwanted in enumerate(_UNWANTED_BITS):
            whole = encode(b"\0" * offset + data).decode().rstrip("=")
            # The last character also carries bits of what follows, unless the bytes fill it.
            end = len(whole) if (offset + len(data)) % 3 == 0 else len(whole) - 1
            inner = whole[unwanted:end]
            if len(inner) >= _LEAST_BASE64:
                yield inner


def _bytes(secret: str) -> bytes:
    # Values that are not UTF-8 reach Python's environment as lone surrogates.
    return secret.encode("utf-8", "surrogateescape" if _from_environment(secret) else "surrogatepass")


def _from_environment(secret: str) -> bool:
    return all(not "\ud800" <= char <= "\udfff" or "\udc80" <= char <= "\udcff" for char in secret)
