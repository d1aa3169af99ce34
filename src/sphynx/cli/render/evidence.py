"""What the checks that did not pass printed, as ``sphynx show`` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphynx.cli.render.style import Style
from sphynx.cli.render.text import wrap
from sphynx.schema.records import TrialRecord

_LINES = 60
"""Lines of one captured value that are shown; the record holds the rest."""


def evidence_lines(record: TrialRecord, style: Style) -> list[str]:
    """Per check that failed or broke: what it printed, a command's output, an exception, and what a judge
    answered that was no verdict."""
    lines: list[str] = []
    for check in record.validations:
        if check.get("status") not in ("failed", "error"):
            continue
        own: list[str] = []
        for entry in check.get("logs") or ():
            own += _value(entry.get("level") or "log", entry.get("value"), style)
        if check.get("kind") == "command":
            own += _value("stdout", check.get("output"), style)
            own += _value("stderr", check.get("error"), style)
        elif check.get("kind") == "judge":
            own += _value("answer", check.get("output"), style) if check["status"] == "error" else []
        else:
            own += _value("error", check.get("error"), style)
        if own:
            lines += [f"  {style.paint(str(check.get('name') or 'check'), 'bold')} printed", *own]
    return lines


def _value(source: str, value: Mapping[str, Any] | None, style: Style) -> list[str]:
    if not value or not str(value.get("text") or "").strip():
        return []
    lead = style.paint(f"    {source} │ ", "dim")
    text = wrap(str(value["text"]), style.width - len(source) - 7)
    lines = [lead + line for line in text[:_LINES]]
    if len(text) > _LINES or value.get("truncated"):
        lines.append(lead + "…")
    return lines
