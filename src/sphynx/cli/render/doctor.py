"""The lines of ``sphynx doctor``."""

from __future__ import annotations

from collections.abc import Sequence

from sphynx.cli.findings import Finding
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import fold, one_line, pad, width, wrap

_MARKS = {"ok": ("✓", "green"), "off": ("○", "yellow"), "missing": ("✗", "red")}


def finding_lines(findings: Sequence[Finding], style: Style) -> list[str]:
    """A line per finding; what does not fit is wrapped under its value."""
    names = max((width(finding.name) for finding in findings), default=0)
    values = max((width(item.value) for item in findings if item.note and width(item.value) <= 24), default=0)
    lines: list[str] = []
    for finding in findings:
        mark, colour = _MARKS[finding.state]
        lead = f"  {style.paint(mark, colour)} {pad(finding.name, names)}   "
        parts = [pad(finding.value, values) if finding.note or finding.hint else finding.value]
        parts += [one_line(part) for part in finding.note.split("   ") if part.strip()]
        parts += [f"hint: {one_line(finding.hint)}"] if finding.hint else []
        text = "   ".join(parts)
        if width(lead) + width(text) <= style.width:
            lines.append(lead + text)
            continue
        indent = " " * width(lead)
        room = style.width - len(indent)
        for row in fold([parts[0].rstrip(), *parts[1:]], "   ", room, ""):
            for line in wrap(row.strip(), room):
                lines.append(lead + line)
                lead = indent
    return lines
