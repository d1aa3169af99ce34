"""``evals-json``, strictly as documented: one JSON object with ``skill_name`` and ``evals``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphynx.errors import UsageError
from sphynx.importers.imported import FALLBACK_CASE, FALLBACK_SUITE, Imported, ImportedCase, Line
from sphynx.suite.skills.json_places import JsonError, parse
from sphynx.suite.skills.model import slug

KINDS = {
    "content_contains_any": "contains_any",
    "content_contains_all": "contains_all",
    "content_contains_none": "contains_none",
}


def read(path: Path) -> Imported:
    """Read an evals file. ``UsageError`` names the file and everything wrong with it, by case and field."""
    try:
        text = path.read_text("utf-8-sig")
    except IsADirectoryError:
        raise UsageError(f"{path}: is a folder", hint="name the JSON file in it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        value = parse(text).value
    except JsonError as error:
        place = f"line {error.place.line}, column {error.place.column}"
        raise UsageError(f"{path}: not valid JSON: {error.message} ({place})") from None
    return from_value(value, str(path), path.name)


def from_value(value: Any, shown: str, origin: str) -> Imported:
    """The suite of a decoded evals file; ``shown`` names it in an error."""
    faults = [f"{where}: {why}" for where, why in _faults(value)]
    if faults:
        raise UsageError(
            f"{shown}: {'; '.join(faults)}",
            hint="--prose judge reads every shape of evals file and lets a judge decide",
        )
    cases = tuple(_case(item) for item in value["evals"])
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise UsageError(f'{shown}: two cases make the id "{case.id}"', hint="give each its own id")
        seen.add(case.id)
    return Imported(slug(value["skill_name"], FALLBACK_SUITE), cases, origin)


def _case(item: dict[str, Any]) -> ImportedCase:
    name = f"{slug(item.get('name') or FALLBACK_CASE, FALLBACK_CASE)}-{int(item['id'])}"
    comments: list[str] = []
    if item.get("expected_output"):
        comments.append(f"Expected: {item['expected_output']}")
    given = item.get("files") or []
    comments.append(
        f"It starts from: {', '.join(given)}. Put their contents here."
        if given
        else "It starts from nothing."
    )
    return ImportedCase(
        name, name, item["prompt"], tuple(_line(one) for one in item["assertions"]), tuple(comments)
    )


def _line(assertion: Any) -> Line:
    if isinstance(assertion, str):
        return Line(assertion)
    return Line(assertion["text"], KINDS[assertion["kind"]], tuple(assertion["needles"]))


def _faults(value: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield "the file", "must be an object with skill_name and evals"
        return
    if not isinstance(value.get("skill_name"), str):
        yield "skill_name", _wanted(value, "skill_name", "text")
    if not isinstance(value.get("evals"), list):
        yield "evals", _wanted(value, "evals", "a list")
        return
    for number, item in enumerate(value["evals"]):
        where = f"evals[{number}]"
        if not isinstance(item, dict):
            yield where, "must be an object"
            continue
        yield from _case_faults(item, where)


def _case_faults(item: dict[str, Any], where: str) -> Iterator[tuple[str, str]]:
    given = item.get("id")
    whole = isinstance(given, float) and given.is_integer()
    if isinstance(given, bool) or not (isinstance(given, int) or whole):
        yield f"{where}.id", _wanted(item, "id", "a whole number")
    if not isinstance(item.get("prompt"), str):
        yield f"{where}.prompt", _wanted(item, "prompt", "text")
    for key in ("name", "expected_output"):
        if item.get(key) is not None and not isinstance(item[key], str):
            yield f"{where}.{key}", "must be text"
    if item.get("files") is not None and not _all_texts(item["files"]):
        yield f"{where}.files", "must be a list of texts"
    if not isinstance(item.get("assertions"), list):
        yield f"{where}.assertions", _wanted(item, "assertions", "a list")
        return
    for number, assertion in enumerate(item["assertions"]):
        yield from _assertion_faults(assertion, f"{where}.assertions[{number}]")


def _assertion_faults(assertion: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(assertion, str):
        return
    if not isinstance(assertion, dict):
        yield where, "must be text or an object"
        return
    if assertion.get("kind") not in KINDS:
        yield f"{where}.kind", f"must be one of {', '.join(KINDS)}"
    if not _all_texts(assertion.get("needles")):
        yield f"{where}.needles", "must be a list of texts"
    if not isinstance(assertion.get("text"), str):
        yield f"{where}.text", _wanted(assertion, "text", "text")


def _all_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _wanted(item: dict[str, Any], key: str, what: str) -> str:
    return f"must be {what}" if item.get(key) is not None else f"is missing, it must be {what}"
