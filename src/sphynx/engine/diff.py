"""The difference between two looks at a workspace, as one unified diff that names what it leaves out."""

from __future__ import annotations

import difflib
import re
import stat
from dataclasses import dataclass, field

from sphynx.engine.tree import FileState, Tree

_UNUSUAL = re.compile(r"[\x00-\x1f\x7f\"\\]")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
MAX_LINES = 4_000
"""Lines of one side beyond which a change is named, not shown."""
MAX_TEXT = 1_000_000
"""Characters of a diff beyond which files are only listed: more than is ever stored."""


@dataclass(slots=True)
class Changes:
    """What an agent left. ``paths`` are workspace-relative, in path order; ``text`` is not yet redacted."""

    paths: list[str] = field(default_factory=list)
    text: str = ""
    notes: list[str] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    """Bytes of changed and new regular files, where they were small enough to hold."""


def compare(before: Tree, after: Tree) -> Changes:
    """Everything created, changed or removed between two scans."""
    changes = Changes()
    parts: list[str] = []
    room = MAX_TEXT
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path), after.files.get(path)
        if new is None and not after.complete:
            continue
        if not _differs(old, new):
            continue
        shown = printable(path)
        changes.paths.append(shown)
        if room > 0:
            parts.append(_entry(shown, old, new))
            room -= len(parts[-1])
        if new is not None and new.data is not None and stat.S_ISREG(new.mode):
            changes.contents[shown] = new.data
    if not (before.complete and after.complete):
        changes.notes.append("the workspace has too many files to compare all of them")
    if len(parts) < len(changes.paths):
        changes.notes.append(f"the diff shows {len(parts)} of {len(changes.paths)} changed files")
    changes.text = "".join(parts)
    return changes


def printable(path: str) -> str:
    """``path`` with the bytes of its name that are not UTF-8 written as ``\\xff``."""
    if path.isascii():
        return path
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _quoted(name: str) -> str:
    """``name`` as git writes it in a header, so that no name can pass for lines of the diff."""
    if not _UNUSUAL.search(name):
        return name
    return '"' + _UNUSUAL.sub(lambda found: _ESCAPES.get(found[0]) or f"\\{ord(found[0]):03o}", name) + '"'


def _differs(old: FileState | None, new: FileState | None) -> bool:
    if old is None or new is None:
        return True
    if (old.size, old.mtime_ns, old.inode, old.mode) == (new.size, new.mtime_ns, new.inode, new.mode):
        return False
    if old.data is None or new.data is None:
        return True
    return old.data != new.data or old.mode != new.mode


def _entry(path: str, old: FileState | None, new: FileState | None) -> str:
    head = [f"diff --git {_quoted(f'a/{path}')} {_quoted(f'b/{path}')}\n"]
    if old is None and new is not None:
        head.append(f"new file mode {new.mode:o}\n")
    elif new is None and old is not None:
        head.append(f"deleted file mode {old.mode:o}\n")
    elif old is not None and new is not None and old.mode != new.mode:
        head.append(f"old mode {old.mode:o}\nnew mode {new.mode:o}\n")
    return "".join(head) + _body(path, old, new)


def _body(path: str, old: FileState | None, new: FileState | None) -> str:
    before, after = _text(old), _text(new)
    if before is None or after is None:
        sizes = f"{old.size if old else 0} to {new.size if new else 0} bytes"
        return f"Binary or large file {_quoted(path)} not shown ({sizes})\n"
    if before == after:
        return ""
    old_lines, new_lines = _lines(before), _lines(after)
    if len(old_lines) > MAX_LINES or len(new_lines) > MAX_LINES:
        return f"Long file {_quoted(path)} not shown ({len(old_lines)} to {len(new_lines)} lines)\n"
    old_name = _quoted(f"a/{path}") if old else "/dev/null"
    new_name = _quoted(f"b/{path}") if new else "/dev/null"
    if not old_lines or not new_lines:
        return _whole(old_name, new_name, old_lines, new_lines)
    lines = difflib.unified_diff(old_lines, new_lines, old_name, new_name)
    return "".join(_ended(line) for line in lines)


def _whole(old_name: str, new_name: str, old: list[str], new: list[str]) -> str:
    """A file that is all new or all gone: no need to look for what is common."""
    mark, lines = ("-", old) if old else ("+", new)
    ranges = f"-1,{len(old)} +0,0" if old else f"-0,0 +1,{len(new)}"
    body = "".join(_ended(mark + line) for line in lines)
    return f"--- {old_name}\n+++ {new_name}\n@@ {ranges} @@\n{body}"


def _lines(text: str) -> list[str]:
    """Lines as git counts them: ended by a line feed and nothing else."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return ended if not lines[-1] else [*ended, lines[-1]]


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _text(state: FileState | None) -> str | None:
    if state is None:
        return ""
    if state.data is None or b"\0" in state.data:
        return None
    return state.data.decode("utf-8", "replace")
