"""Errors as people read them: one line that says what is wrong and where, one that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

from sphynx.cli.render import figures
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import clean, one_line, width, wrap
from sphynx.errors import DefinitionError, Problem, SphynxError

_LONG = re.compile(r"\S{400,}")
_KEPT = 60


def _shortened(found: re.Match[str]) -> str:
    """A word no reader reads to its end, such as an id that was pasted wrong."""
    return f"{found[0][:_KEPT]}… ({len(found[0]):,} characters)"


def error_lines(error: SphynxError, style: Style) -> list[str]:
    """``error:`` lines with their hints; every problem of a ``DefinitionError``, then their number."""
    if isinstance(error, DefinitionError) and error.problems:
        return _definition_lines(error, style)
    return [*_lead(error.message, style), *_hint(error.hint, style)]


def note_line(text: str, style: Style) -> str:
    """``note: ...`` on one line."""
    return f"{style.paint('note:', 'bold', 'yellow')} {one_line(text)}"


def relative(path: str, cwd: str | Path | None = None) -> str:
    """``path`` as seen from where the user stands; as it is when it lies elsewhere."""
    if not path:
        return path
    try:
        return str(Path(path).relative_to(Path(cwd) if cwd else Path.cwd()))
    except (ValueError, OSError):
        return path


def _definition_lines(error: DefinitionError, style: Style) -> list[str]:
    lines: list[str] = []
    for problem in error.problems:
        lines += [*_lead(_place(problem), style), *_hint(problem.hint, style)]
    lines += _hint(error.hint, style)
    files = {file for problem in error.problems if (file := _file(problem))}
    where = f" in {figures.plural(len(files), 'file')}" if files else ""
    count = figures.plural(len(error.problems), "problem")
    return [*lines, *_lead(f"{count}{where}, nothing was started", style)]


def _file(problem: Problem) -> str:
    """The file of a problem; what an import raised begins with it."""
    told = re.match(r"[^:]+\.py(?=:)", problem.message)
    return relative(problem.file) or (told[0] if told else "")


def _place(problem: Problem) -> str:
    return ": ".join(part for part in (relative(problem.file), problem.where, problem.message) if part)


def _lead(message: str, style: Style) -> list[str]:
    return _told(style.paint("error:", "bold", "red"), message, style)


def _hint(hint: str | None, style: Style) -> list[str]:
    return _told("  " + style.paint("hint:", "bold", "cyan"), hint, style) if hint else []


def _told(lead: str, text: str, style: Style) -> list[str]:
    """One line wherever lines are read by programs; in a terminal wrapped between words."""
    text = _LONG.sub(_shortened, text)
    if style.interactive:
        first, *rest = wrap(text, style.width - width(lead) - 1) or [""]
    else:
        first, *rest = clean(text).split("\n")
    return [f"{lead} {first}", *("  " + line for line in rest if line.strip())]
