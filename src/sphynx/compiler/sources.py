"""The authors' own source files that a run keeps beside its checks."""

from __future__ import annotations

from sphynx.compiler.bundle import Contents
from sphynx.schema.utf16 import length

MAX_FILES = 100
MAX_CHARS = 1_000_000
MAX_PATH_CHARS = 512


def captured(contents: Contents) -> list[dict[str, str]]:
    """Path and text of the project's own Python files, the eval file first, as far as they fit.

    At most 100 files and 1,000,000 characters in all; files that would pass it are left out. Data files and
    installed packages are never captured.
    """
    out: list[dict[str, str]] = []
    left = MAX_CHARS
    for path in contents.sources:
        text = contents.files[path].decode("utf-8", "replace")
        size = length(text)
        fits = size <= left and length(path) <= MAX_PATH_CHARS and not set(path) & set("\\:\0")
        if fits and len(out) < MAX_FILES:
            out.append({"path": path, "content": text})
            left -= size
    return out
