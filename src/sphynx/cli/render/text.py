"""Text of agents made safe and narrow: control characters out, words wrapped, cells counted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

# CSI, OSC (ended by BEL or ST), and any other escape: an agent must not drive the reader's terminal.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_PAINT = re.compile(r"\x1b\[[0-9;]*m")


def clean(text: str) -> str:
    """``text`` without escape sequences and control characters; CRLF becomes LF, tabs are 4 wide."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _CONTROLS.sub("", text.replace("\r", "\n")).expandtabs(4)


def one_line(text: str) -> str:
    """``text`` on one line, runs of blanks as one blank."""
    return " ".join(clean(text).split())


def width(text: str) -> int:
    """Terminal cells of ``text``; colour codes take none."""
    return cell_len(_PAINT.sub("", text))


def pad(text: str, cells: int) -> str:
    """``text`` filled with blanks on the right up to ``cells``."""
    return text + " " * max(0, cells - width(text))


def cut(text: str, cells: int) -> str:
    """``text`` in at most ``cells`` cells, ended by ``…`` where something went."""
    if width(text) <= cells:
        return text
    return set_cell_size(text, max(0, cells - 1)).rstrip() + "…"


def cut_left(text: str, cells: int) -> str:
    """Like :func:`cut` but the end stays, as one wants of a path."""
    if width(text) <= cells:
        return text
    while text and cell_len(text) > max(0, cells - 1):
        text = text[1:]
    return "…" + text


def fold(parts: Sequence[str], gap: str, cells: int, indent: str = "  ") -> list[str]:
    """``parts`` on as few lines as hold them, ``gap`` between those of one line, later lines deeper."""
    lines: list[str] = []
    for part in parts:
        if lines and width(lines[-1]) + width(gap) + width(part) <= cells:
            lines[-1] += gap + part
        else:
            lines.append(indent + part if not lines else indent + "  " + part)
    return lines


def wrap(text: str, cells: int) -> list[str]:
    """Lines of at most ``cells`` cells. The author's lines and indents stay; only long words are cut."""
    lines: list[str] = []
    for line in clean(text).split("\n"):
        lines.extend(_wrap_line(line.rstrip(), max(8, cells)))
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _wrap_line(line: str, cells: int) -> list[str]:
    if cell_len(line) <= cells:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    indent = indent if len(indent) < cells // 2 else ""
    out: list[str] = []
    current = indent
    for word in line.split():
        gap = " " if current.strip() else ""
        if cell_len(current) + len(gap) + cell_len(word) <= cells:
            current += gap + word
            continue
        if current.strip():
            out.append(current)
        *full, current = _chop(indent + word, indent, cells)
        out.extend(full)
    return [*out, current] if current.strip() else out


def _chop(word: str, indent: str, cells: int) -> list[str]:
    """A word, cut only when no line could hold it."""
    if cell_len(word) <= cells:
        return [word]
    parts: list[str] = []
    current, room = "", cells
    for char in word:
        taken = cell_len(char)
        if taken > room:
            parts.append(current)
            current, room = indent, cells - len(indent)
        current += char
        room -= taken
    return [*parts, current]
