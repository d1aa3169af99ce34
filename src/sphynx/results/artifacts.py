"""Which of the files a trial changed are worth keeping, and safe to keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from sphynx.redaction import Redactor

FILE_COUNT = 12
FILE_LIMIT = 131_072
"""Bytes of one file."""
TOTAL_LIMIT = 524_288
"""Bytes of all of them; a file that does not fit is left out, a later smaller one may still fit."""
PATH_LIMIT = 512

_CODE = ("js", "cjs", "mjs", "jsx", "ts", "cts", "mts", "tsx", "py", "rs", "go", "sh", "sql", "css", "html")
_EXTENSIONS = frozenset((*_CODE, "json", "md", "mdx", "txt", "yaml", "yml", "toml"))
_SECRET_FOLDERS = frozenset(("credential", "credentials", "secret", "secrets"))
_FOLDERS = frozenset(("node_modules", "vendor", *_SECRET_FOLDERS))
_LOCKS = frozenset(("package-lock.json", "bun.lock", "yarn.lock"))
_UNSAFE_NAMES = ("secret", "credential", "auth.json")
_UNSAFE_TEXT = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY"
    r"|(?<![A-Za-z0-9_-])(?:sk-[A-Za-z0-9_-]{16,}|anp_[A-Za-z0-9]{16,}|AKIA[A-Z0-9]{16})"
    r"|(?:api[_-]?key|token|client[_-]?secret|password)[\"']?\s{0,8}[:=]\s{0,8}[\"'](?!\[redacted\])[^\"'\s]{12,}[\"']",
    re.IGNORECASE,
)


def candidates(changed: Iterable[str], workspace: str = "") -> list[str]:
    """The changed files that may be kept, relative to the workspace: the first twelve in order of change.

    Text files by their ending; nothing hidden, generated, locked, or named after secrets.
    """
    prefix = workspace.rstrip("/") + "/"
    found: dict[str, None] = {}
    for path in changed:
        relative = path.removeprefix(prefix) if path.startswith("/") else path
        if _kept_path(relative):
            found[relative] = None
            if len(found) == FILE_COUNT:
                break
    return list(found)


def select(contents: Mapping[str, bytes | str], redactor: Redactor) -> list[tuple[str, str]]:
    """Path and redacted text of what is kept of ``contents`` (workspace-relative path to content).

    Left out: what ``candidates`` leaves out, files over the limits, files that are not UTF-8 text, and files
    that after redaction still hold something like a key or a password.
    """
    kept: list[tuple[str, str]] = []
    room = TOTAL_LIMIT
    for path in candidates(contents):
        text = _text(contents[path], room)
        if text is None:
            continue
        clean = redactor.text(text)
        if redactor.text(path) != path or _UNSAFE_TEXT.search(clean) is not None:
            continue
        room -= len(text.encode("utf-8", "surrogatepass"))
        kept.append((path, clean))
    return kept


def safe_diff(diff: str) -> tuple[str, list[str]]:
    """A redacted unified diff without the content of files that may hold secrets, and the paths of those.

    Left out is what is named after secrets or stands in an environment file, and what still holds something
    like a key or a password. Unlike a stored file, a change counts whatever its file's ending is.
    """
    if not (_UNSAFE_TEXT.search(diff) or _UNSAFE_PATH.search(diff)):
        return diff, []
    shown: list[str] = []
    left_out: list[str] = []
    for entry in _DIFF_ENTRY.split(diff):
        head, _, _ = entry.partition("\n")
        path = _diff_path(head) if head.startswith(_DIFF_HEAD) else ""
        if path and (_names_secrets(path) or _UNSAFE_TEXT.search(entry)):
            left_out.append(path)
            entry = f"{head}\nLeft out: {path} may hold a secret\n"
        shown.append(entry)
    return "".join(shown), left_out


_DIFF_HEAD = "diff --git "
_DIFF_ENTRY = re.compile(r"^(?=diff --git )", re.MULTILINE)
_UNSAFE_PATH = re.compile(r"^diff --git .*(?:secret|credential|auth\.json|/\.env|\.pem|\.key)", re.I | re.M)


def _diff_path(head: str) -> str:
    """``diff --git a/x b/x``: both halves name the file."""
    rest = head[len(_DIFF_HEAD) :].strip()
    return rest[len(rest) - (len(rest) - 1) // 2 :].strip('"').removeprefix("b/")


def _names_secrets(path: str) -> bool:
    parts = [part.lower() for part in PurePosixPath(path).parts]
    name = parts[-1] if parts else ""
    return (
        any(part in _SECRET_FOLDERS for part in parts)
        or any(word in name for word in _UNSAFE_NAMES)
        or name.startswith(".env")
        or name.endswith((".pem", ".key"))
    )


def _text(content: bytes | str, room: int) -> str | None:
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(data) > min(FILE_LIMIT, room) or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _kept_path(path: str) -> bool:
    if path.rpartition(".")[2].lower() not in _EXTENSIONS:
        return False  # most files an agent makes by the thousand end here
    if "\0" in path or len(path) > PATH_LIMIT or path.startswith("/"):
        return False
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if not parts or any(part.startswith(".") or part in _FOLDERS for part in parts):
        return False
    name = parts[-1]
    if name in _LOCKS or any(word in name for word in _UNSAFE_NAMES):
        return False
    stem, dot, extension = name.rpartition(".")
    return bool(stem and dot) and extension in _EXTENSIONS
