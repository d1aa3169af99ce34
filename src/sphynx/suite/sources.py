"""The workspace an agent starts in: a repository, given files, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, cast

from sphynx.suite.fields import Fault, Field, is_plain, mapping, record, show, table_of, text, units
from sphynx.suite.paths import file_path, segments
from sphynx.suite.shapes import FilesSource, RepoSource

TOTAL_FILE_UNITS = 2_000_000
_SHORT = r"(?P<name>[A-Za-z0-9][\w.-]*/[\w][\w.-]*?)(?:\.git)?(?:@(?P<ref>.+))?"
_URL = r"(?P<url>(?:[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+:).+?)(?:(?<=\.git)@(?P<ref>[^@]+))?"
_BAD = r"[\s\0]"
_BAD_IN_PATH = r"[\0-\x1f\x7f]"


class Repo:
    """A git repository. ``url`` is what is cloned, ``ref`` a branch, tag or commit, ``text`` as written.

    A relative ``url`` (``local`` is true) is meant from the folder of the eval file.
    """

    __slots__ = ("faults", "local", "ref", "text", "url")
    kind: Literal["repo"] = "repo"

    def __init__(self, text: str, ref: str | None = None) -> None:
        self.text = text
        self.url = text
        self.ref = ref
        self.local = False
        self.faults: list[Fault] = []
        self._read(text, ref)

    def __repr__(self) -> str:
        return f"repo({show(self.text)})" if self.ref is None else f"repo({show(self.url)}, ref={self.ref!r})"

    def _read(self, given: object, ref: object) -> None:
        if not isinstance(given, str):
            self._fault(f"must be text, not {show(given)}")
            return
        if is_path(given):
            self.local = not given.startswith("/")
        elif match := re.fullmatch(_URL, given):
            self._take(match["url"], match["ref"])
        elif match := re.fullmatch(_SHORT, given):
            self._take(f"https://github.com/{match['name']}.git", match["ref"])
        else:
            self._fault(
                f"takes owner/name, owner/name@ref, a clone URL or a path like ./app, not {show(given)}"
            )
            return
        spaces_are_fine = is_path(given) or given.startswith("file:")
        if re.search(_BAD_IN_PATH if spaces_are_fine else _BAD, given) or self.url.startswith("-"):
            self._fault(f"cannot clone {show(given)}")
        self._check_ref(ref)

    def _take(self, url: str, ref: str | None) -> None:
        self.url = url
        if ref is not None and self.ref is not None and ref != self.ref:
            self._fault(f"names two refs, {show(ref)} and {show(self.ref)}")
        self.ref = self.ref if ref is None else ref

    def _check_ref(self, given: object) -> None:
        ref = cast("object", self.ref)
        if ref is None:
            return
        if not isinstance(ref, str):
            self._fault(f"ref must be text, not {show(given)}")
        elif not ref.strip() or ref.startswith("-") or re.search(_BAD, ref):
            self._fault(f"ref must be a branch, tag or commit, not {show(ref)}")

    def _fault(self, message: str) -> None:
        self.faults.append(Fault(message, at=": repo()"))


class Files:
    """Files written into an empty workspace, by path relative to it."""

    __slots__ = ("files",)
    kind: Literal["files"] = "files"

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = cast("dict[str, str]", mapping(files) or files)

    def __repr__(self) -> str:
        return f"files({show(self.files)})"


class Empty:
    """An empty workspace."""

    __slots__ = ()
    kind: Literal["empty"] = "empty"

    def __repr__(self) -> str:
        return "empty"


Source: TypeAlias = Repo | Files | Empty

empty = Empty()
"""An empty workspace; what a case without a source gets."""


def repo(text: str, *, ref: str | None = None) -> Repo:
    """A repository: ``owner/name``, ``owner/name@ref``, any clone URL, or a path such as ``./app``.

    A clone URL that ends in ``.git`` takes ``@ref`` too; ``ref=`` works with all of them.
    """
    return Repo(text, ref)


def files(files: Mapping[str, str]) -> Files:
    """Files by path: ``files({"src/add.py": "..."})``. Paths stay inside the workspace."""
    return Files(files)


def is_path(text: str) -> bool:
    """Whether a repository is named by a path on this machine."""
    return text in (".", "..") or text.startswith(("/", "./", "../", "~"))


_KINDS = {
    "repo": (
        Field("kind", "str", text(), doc='"repo"', required=True),
        Field("url", "str", text(low=1), doc="what repo() takes", required=True),
        Field("ref", "str | None", text(low=1), doc="a branch, tag or commit"),
    ),
    "files": (
        Field("kind", "str", text(), doc='"files"', required=True),
        Field("files", "Mapping[str, str]", table_of(text(), of="texts"), doc="texts by path", required=True),
    ),
    "empty": (Field("kind", "str", text(), doc='"empty"', required=True),),
}


def source_from(value: object) -> Source | None:
    """A source as given to a builder; ``None`` when it is none (see :func:`source_faults`)."""
    if isinstance(value, (Repo, Files, Empty)):
        return value
    items = mapping(value) or {}
    match items.get("kind"):
        case "repo" if isinstance(items.get("url"), str):
            return Repo(str(items["url"]), cast("str | None", items.get("ref")))
        case "files":
            return Files(cast("Mapping[str, str]", items.get("files")))
        case "empty":
            return empty
        case _:
            return None


def source_faults(value: Any) -> Iterator[Fault]:
    """What is wrong with a value of the field ``source``."""
    items = mapping(value)
    if items is not None:
        kind = str(items.get("kind"))
        if kind not in _KINDS:
            yield Fault(
                'must have a "kind" of "repo", "files" or "empty"', hint="or use repo(), files(), empty"
            )
            return
        yield from record(_KINDS[kind], what=f"a {kind} source")(items)
    source = source_from(value)
    if isinstance(source, Repo):
        yield from source.faults
    elif isinstance(source, Files):
        yield from _files_faults(source.files)
    elif source is None and items is None:
        hint = f"repo({show(value)})" if isinstance(value, str) else None
        yield Fault(f"must be repo(), files() or empty, not {show(value)}", hint=hint)


def _files_faults(given: object) -> Iterator[Fault]:
    contents = mapping(given)
    if contents is None:
        yield Fault(f"must be a dict of texts by path, not {show(given)}", at=": files()")
        return
    total = 0
    seen: dict[str, str] = {}
    for path, content in contents.items():
        at = f': files()["{path}"]'
        for fault in file_path(path):
            yield Fault(fault.text, at=at)
        if not isinstance(content, str):
            yield Fault(f"must be text, not {show(content)}", at=at)
            continue
        if not is_plain(content):
            yield Fault("must be valid Unicode without NUL characters", at=at)
        total += units(content)
        plain = "/".join(segments(path))
        if plain in seen:
            yield Fault(f"is the same file as {show(seen[plain])}", at=at)
        seen[plain] = path
    for plain, path in seen.items():
        if above := next((seen[head] for head in _parents(plain) if head in seen), None):
            yield Fault(f"is below {show(above)}, which is a file", at=f': files()["{path}"]')
    if total > TOTAL_FILE_UNITS:
        yield Fault(f"must hold at most {TOTAL_FILE_UNITS:,} characters, there are {total:,}", at=": files()")


def _parents(path: str) -> Iterator[str]:
    steps = path.split("/")
    for count in range(1, len(steps)):
        yield "/".join(steps[:count])


__all__ = ["Empty", "Files", "FilesSource", "Repo", "RepoSource", "Source", "empty", "files", "repo"]
