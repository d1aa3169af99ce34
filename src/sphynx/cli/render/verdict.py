"""A settled trial's verdict on screen: ``results.verdict`` made safe, wrapped and coloured."""

from __future__ import annotations

from sphynx.cli.render.style import Style
from sphynx.cli.render.text import one_line, wrap
from sphynx.results import verdict
from sphynx.schema.records import TrialRecord

_COLOURS = {"✓": "green", "✗": "red", "○": "yellow", "·": "dim"}


def verdict_lines(record: TrialRecord, style: Style, *, every: bool = False) -> list[str]:
    """The verdict of a trial; ``every`` also lists the checks that passed.

    Without it, what the run noted beside it (an agent that exited with an error) stands below.
    """
    lines: list[str] = []
    for line in verdict.of_record(record):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        lines += [indent + part for part in wrap(line.lstrip(" "), style.width - len(indent))]
    if every:
        lines += _passing(record, style)
    else:
        for note in record.notes:
            lines += ["    " + part for part in wrap(f"note: {one_line(note)}", style.width - 4)]
    return [_coloured(line, style) for line in lines]


def _passing(record: TrialRecord, style: Style) -> list[str]:
    lines: list[str] = []
    for item in record.validations:
        if item.get("status") in ("passed", "skipped"):
            mark = "✓" if item["status"] == "passed" else "·"
            took = item.get("durationMs")
            timing = f" · {verdict.duration(took)}" if isinstance(took, int | float) else ""
            skipped = " · skipped" if item["status"] == "skipped" else ""
            lines.append(f"    {mark} {item.get('name') or 'check'}{timing}{skipped}")
            if item.get("kind") == "judge" and item["status"] == "passed":
                # Why a judge was content is as much of a result as why it was not.
                lines += ["      " + part for part in wrap(one_line(item["message"]), style.width - 6)]
    return lines


def _coloured(line: str, style: Style) -> str:
    bare = line.lstrip(" ")
    indent = line[: len(line) - len(bare)]
    if len(indent) in (2, 4) and bare[:2].strip() in _COLOURS and bare[1:2] == " ":
        return f"{indent}{style.paint(bare[0], _COLOURS[bare[0]])}{bare[1:]}"
    return line
