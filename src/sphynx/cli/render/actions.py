"""What an agent did, as a verb and a subject: ``read routes.ts``, ``ran pytest -q``, ``wrote hello.txt``."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from sphynx.cli.render.text import clean, one_line

_READERS = {"cat", "sed", "head", "tail", "less", "more", "nl", "bat", "batcat"}
_SEARCHERS = {"rg", "grep", "egrep", "fgrep", "ag", "ack", "git-grep"}
_SHELLS = {"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh"}
_TELLING = (
    "skill", "command", "cmd", "file_path", "filePath", "path", "file", "pattern", "query", "url", "name",
    "title", "description", "prompt",
)  # fmt: skip
_FILES = 20
_LONGEST = 4_000
"""Characters of a command or a tool's input that are looked at; a line on screen shows less."""


class Action(NamedTuple):
    """One line's verb and subject. ``kind`` picks the colour: run, read, search, write, tool."""

    kind: str
    verb: str
    subject: str


def of_command(text: str) -> Action:
    """A shell command: reading and searching commands say so, anything else ``ran``."""
    text = _unwrap(clean(text[:_LONGEST]).strip())
    line = _first_line(text)
    parts = _simple(text)
    if parts:
        program = PurePosixPath(parts[0]).name
        if program in _READERS and (target := _read_target(program, parts[1:])):
            return Action("read", "read", target)
        if program in _SEARCHERS and (target := _search_target(parts[1:])):
            return Action("search", "searched", target)
    return Action("run", "ran", line)


def of_tool(name: str, payload: str | None) -> Action:
    """A tool call: its name, and the telling value of its JSON input."""
    return Action("tool", one_line(name) or "tool", one_line(_telling(payload)))


def of_files(paths: Sequence[str]) -> Action:
    """Files that were written, by base name."""
    names = [PurePosixPath(one_line(path)).name or one_line(path) for path in paths[:_FILES]]
    more = f" and {len(paths) - _FILES:,} more" if len(paths) > _FILES else ""
    return Action("write", "wrote", ", ".join(names) + more)


def _first_line(text: str) -> str:
    line, _, rest = text.partition("\n")
    return f"{one_line(line)} …" if rest.strip() else one_line(line)


def _unwrap(text: str) -> str:
    """``bash -lc 'x'`` is how some agents run ``x``."""
    if not text.startswith(tuple(_SHELLS)):
        return text
    parts = _split(text)
    if len(parts) == 3 and parts[0] in _SHELLS and parts[1] in ("-c", "-lc", "-ic"):
        return parts[2].strip()
    return text


def _simple(text: str) -> list[str]:
    """The words of one plain command; empty when it pipes, chains, redirects, expands or spans lines."""
    if "\n" in text or "$(" in text or "`" in text:
        return []
    parts = _split(text, operators=True)
    if any(part and set(part) <= set("();<>|&") for part in parts):
        return []
    return parts


def _split(text: str, *, operators: bool = False) -> list[str]:
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&" if operators else "")
        lexer.whitespace_split = True
        lexer.commenters = ""
        return list(lexer)
    except ValueError:
        return []


def _read_target(program: str, args: Sequence[str]) -> str:
    """The base names of what is read; empty when nothing is, or when ``sed`` edits in place."""
    plain = [arg for arg in args if not arg.startswith("-")]
    if program == "sed":
        if any(arg.startswith(("-i", "--in-place")) for arg in args):
            return ""
        plain = plain if {"-e", "-f"} & set(args) else plain[1:]
    if program in ("head", "tail"):
        plain = [arg for arg in plain if not arg.lstrip("+").isdigit()]
    return ", ".join(PurePosixPath(arg).name or arg for arg in plain)


def _search_target(args: Sequence[str]) -> str:
    plain = [arg for arg in args if not arg.startswith("-")]
    if not plain:
        return ""
    where = " ".join(plain[1:])
    return f"{plain[0]} in {where}" if where and where != "." else plain[0]


def _telling(payload: str | None) -> str:
    if not payload:
        return ""
    payload = payload[:_LONGEST]
    try:
        value: Any = json.loads(payload)
    except ValueError:
        return payload
    if not isinstance(value, dict):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    for key in _TELLING:
        if isinstance(value.get(key), str) and value[key].strip():
            return value[key]
    strings = [item for item in value.values() if isinstance(item, str) and item.strip()]
    if strings:
        return strings[0]
    return json.dumps(value, ensure_ascii=False) if value else ""
