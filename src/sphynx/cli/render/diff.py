"""What a trial changed in its workspace, as ``sphynx show`` prints it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sphynx.cli.render.style import Style
from sphynx.cli.render.text import clean, pad, width
from sphynx.schema.records import TrialRecord

_LEAD = 12
_HEADERS = (
    "index ",
    "--- ",
    "+++ ",
    "new file ",
    "deleted file ",
    "old mode ",
    "new mode ",
    "similarity ",
    "rename ",
)


@dataclass(slots=True)
class _File:
    path: str
    added: int = 0
    removed: int = 0
    lines: list[str] = field(default_factory=list)


def diff_lines(record: TrialRecord, style: Style) -> list[str]:
    """``changed   hello.txt  +1 -0`` and its hunks, file by file; the bare paths where there is no diff."""
    files = _files(record.diff or "")
    if not files:
        return [f"  {pad('changed', _LEAD - 2)}{clean(path)}" for path in record.files_changed]
    room = max(width(item.path) for item in files)
    out: list[str] = []
    for item in files:
        counts = f"{style.paint(f'+{item.added}', 'green')} {style.paint(f'-{item.removed}', 'red')}"
        out.append(f"  {pad('changed', _LEAD - 2)}{pad(item.path, room)}  {counts}")
        out += [" " * _LEAD + _painted(line, style) for line in item.lines]
    if record.diff_truncated:
        out.append(" " * _LEAD + "… the diff was cut here")
    return out


def _files(diff: str) -> list[_File]:
    files: list[_File] = []
    in_hunk = False
    for line in clean(diff).split("\n"):
        if line.startswith("diff --git "):
            files.append(_File(line.rpartition(" b/")[2]))
            in_hunk = False
        elif not files:
            continue
        elif line.startswith("@@"):
            in_hunk = True
            files[-1].lines.append(line)
        elif in_hunk:
            files[-1].lines.append(line)
            files[-1].added += line.startswith("+")
            files[-1].removed += line.startswith("-")
        elif line and not line.startswith(_HEADERS):
            files[-1].lines.append(line)
    for item in files:
        while item.lines and not item.lines[-1]:
            item.lines.pop()
    return files


def _painted(line: str, style: Style) -> str:
    if line.startswith("@@"):
        return style.paint(line, "cyan")
    if line.startswith("+"):
        return style.paint(line, "green")
    return style.paint(line, "red") if line.startswith("-") else line
