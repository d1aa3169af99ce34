"""Turn an exception of an eval file's import into one line that points at the user's own code."""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from sphynx.compiler.project import Layout, is_local
from sphynx.errors import CompileError


def user_error(error: BaseException, place: Layout, cwd: Path) -> CompileError:
    """``file:line: Error: text`` for the deepest frame of the project; the import machinery never shows."""
    spots = [
        (frame.filename, frame.lineno or 0)
        for frame in traceback.extract_tb(error.__traceback__)
        if is_local(frame.filename, place.root)
    ]
    if isinstance(error, SyntaxError) and error.filename and is_local(error.filename, place.root):
        spots.append((error.filename, error.lineno or 0))
    entry = str(place.path)
    file, line = spots[-1] if spots else (entry, 0)
    message = f"{_shown(file, cwd)}{f':{line}' if line else ''}: {describe(error)}"
    notes: list[str] = []
    outer = next((number for name, number in spots if name == entry), None)
    if file != entry:
        notes.append(f"imported by {_shown(entry, cwd)}" + (f":{outer}" if outer else ""))
    advice = _advice(error, place, cwd)
    if advice:
        notes.append(advice)
    return CompileError(message, hint="; ".join(notes) or None)


def describe(error: BaseException) -> str:
    """``Type: text`` on one line, as the last line of a traceback has it."""
    text = error.msg if isinstance(error, SyntaxError) else _text(error)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the error's own class is the user's code too
        return ""


def _advice(error: BaseException, place: Layout, cwd: Path) -> str | None:
    if isinstance(error, ModuleNotFoundError):
        looked = ", ".join(_shown(str(root), cwd) for root in place.roots)
        return f"install it, or put it below one of the import roots: {looked}"
    if isinstance(error, ImportError) and "relative import" in _text(error):
        return f"a relative import needs an __init__.py in {_shown(str(place.path.parent), cwd)}"
    builder = re.match(r"(suite|case|variant)\(\) takes 0 positional arguments", _text(error))
    if isinstance(error, TypeError) and builder:
        return f'its fields are named: {builder[1]}(id="...", ...)'.replace(
            'variant(id="..."', 'variant(harness="..."'
        )
    return None


def _shown(file: str, cwd: Path) -> str:
    path = Path(file)
    return path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else file
