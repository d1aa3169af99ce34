"""``yaml``: one case per file, or a folder of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphynx.errors import UsageError
from sphynx.importers.imported import FALLBACK_CASE, FALLBACK_SUITE, Imported, ImportedCase, Line
from sphynx.suite.skills.model import slug

SUFFIXES = (".yaml", ".yml")
DEFAULT_STEPS = 15
NO_CONTEXT = "What is a good answer?"


def read(path: Path) -> Imported:
    """Read one file, or every ``.yaml`` and ``.yml`` directly in a folder, sorted by name.

    ``UsageError`` names the file and the field; a folder is never imported in part.
    """
    if path.is_dir():
        try:
            files = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES and one.is_file())
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
        if not files:
            raise UsageError(f"{path}: there is no .yaml or .yml file in it")
    else:
        files = [path]
    found = [_case(_mapping(file), file) for file in files]
    cases = _told_apart(found)
    suite_id = cases[0].id if len(cases) == 1 else FALLBACK_SUITE
    return Imported(suite_id, cases, path.name, always_placeholder=True)


def _mapping(path: Path) -> dict[str, Any]:
    import yaml

    try:
        value = yaml.safe_load(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark is not None else ""
        raise UsageError(f"{path}: not YAML: {getattr(error, 'problem', None) or lines[0]}{place}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path}: must be a mapping with name and task")
    return value


def _case(value: dict[str, Any], path: Path) -> ImportedCase:
    faults = [
        f"{key}: {'must be text' if value.get(key) is not None else 'is missing'}"
        for key in ("name", "task")
        if not isinstance(value.get(key), str) or not value[key].strip()
    ]
    context = value.get("judge_context")
    context = [] if context is None else context
    if not isinstance(context, list) or not all(isinstance(one, str) for one in context):
        faults.append("judge_context: must be a list of texts")
    steps = value.get("max_steps")
    steps = DEFAULT_STEPS if steps is None else steps
    if isinstance(steps, bool) or not isinstance(steps, int):
        faults.append("max_steps: must be a whole number")
    if faults:
        raise UsageError(f"{path}: {'; '.join(faults)}")
    case_id = slug(value["name"], FALLBACK_CASE)
    return ImportedCase(
        case_id,
        case_id,
        value["task"],
        tuple(Line(one) for one in context or [NO_CONTEXT]),
        (f"From {path.name}. It allowed {steps} steps; sphynx does not cap an agent's steps.",
         "It starts from nothing."),
        budget=steps,
    )  # fmt: skip


def _told_apart(cases: list[ImportedCase]) -> tuple[ImportedCase, ...]:
    """Two equal names get a number behind them."""
    from dataclasses import replace

    taken: set[str] = set()
    out: list[ImportedCase] = []
    for case in cases:
        name, number = case.id, 1
        while name in taken:
            number += 1
            name = f"{case.id}-{number}"
        taken.add(name)
        out.append(replace(case, id=name, name=name))
    return tuple(out)
