"""Read the criteria of one case: texts, objects and lists of them, under all the names people use."""

# pyright: basic
# The values are other people's JSON: their types are looked at where they are used.
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sphynx.suite.skills import kinds
from sphynx.suite.skills.json_places import Path
from sphynx.suite.skills.model import Criterion, Part
from sphynx.suite.skills.report import Findings

MUST = (
    "assertions", "expectations", "criteria", "must_have", "expect", "deterministic_assertions", "rubric",
    "expected",
)  # fmt: skip
MUST_NOT = (
    "must_not_have", "anti_expectations", "fail", "forbidden", "forbidden_behaviors", "must_not",
    "must_not_do",
)  # fmt: skip
EXPECTED = ("expected_output", "expected_behavior", "expected")

_SENTENCE = ("text", "description", "assertion", "expectation", "criterion", "pass_if", "check", "name")
_PLAIN_KEYS = frozenset({"text", "description", "name", "id", "passed", "evidence", "dimension", "weight"})


def read_criteria(case: Mapping[str, Any], path: Path, who: str, say: Findings) -> tuple[Criterion, ...]:
    """Every criterion of ``case`` in file order, equal texts once; faults go to ``say``."""
    found: dict[tuple[Any, ...], Criterion] = {}
    for key, value in case.items():
        absent = key in MUST_NOT
        if not absent and key not in MUST:
            continue
        if value is None or (key == "expected" and isinstance(value, str)):
            continue
        for criterion in _listed(key, value, (*path, key), absent, who, say):
            mark = (criterion.text.strip().casefold(), criterion.absent, criterion.parts)
            found.setdefault(mark, criterion)
    return tuple(found.values())


def expected_text(case: Mapping[str, Any]) -> str:
    """What the case says a good answer is; empty when it does not."""
    for key in EXPECTED:
        value = case.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, (dict, list)) and value and key not in MUST:
            import json

            return json.dumps(value, ensure_ascii=False)
    return ""


def _listed(key: str, value: Any, path: Path, absent: bool, who: str, say: Findings) -> Iterator[Criterion]:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, dict):
        items = [(f'{key}["{name}"]', (*path, name), _named(name, item)) for name, item in value.items()]
    elif isinstance(value, list):
        items = [(f"{key}[{n + 1}]", (*path, n), item) for n, item in enumerate(value)]
    else:
        say.error(f"{who}: {key} must be a list of texts or objects", path)
        return
    for at, where, item in items:
        criterion = _criterion(item, where, f"{who}: {at}", absent, say)
        if criterion is not None:
            yield criterion


def _named(name: str, item: Any) -> Any:
    """An entry of a map from names to criteria."""
    return {"name": name, **item} if isinstance(item, dict) else item


def _criterion(item: Any, path: Path, at: str, absent: bool, say: Findings) -> Criterion | None:
    if isinstance(item, str):
        if not item.strip():
            say.error(f"{at} is empty", path)
            return None
        return Criterion(item.strip(), absent=absent)
    if not isinstance(item, dict):
        say.error(f"{at} must be a text or an object", path)
        return None
    try:
        return _object(item, path, at, absent, say)
    except kinds.BadOperand as error:
        say.error(f"{at}: {error}", path)
        return None


def _object(item: dict[str, Any], path: Path, at: str, absent: bool, say: Findings) -> Criterion | None:
    kind, parts = _demands(item)
    text = _sentence(item, kind)
    if parts:
        return Criterion(text or _told(parts), parts, absent)
    if not text:
        if kind:
            say.error(f'{at}: the kind "{kind}" is not known and there is no text to judge by', path)
        else:
            say.error(f"{at} has no text", path, hint_keys=item)
        return None
    if kind:
        known = kinds.is_known(kinds.normal(kind))
        say.judged_kind(kind, known)
    return Criterion(text, absent=absent, had_kind=kind)


def _demands(item: dict[str, Any]) -> tuple[str, tuple[Part, ...]]:
    """The kind a criterion names, and what it demands when code can tell."""
    kind = next((item[key] for key in ("kind", "type") if isinstance(item.get(key), str)), "").strip()
    check = item.get("check")
    if isinstance(check, dict) and kinds.is_operators(check):
        return kind or "check", kinds.parts_of_operators(check, item)
    if parts := kinds.command_parts(item):
        return kind or "cmd", parts
    if kind:
        return kind, kinds.parts_of(kinds.normal(kind), item)
    if isinstance(check, str) and kinds.is_known(kinds.normal(check)) and " " not in check.strip():
        return check, kinds.parts_of(kinds.normal(check), {**item, "check": None})
    operators = {key: value for key, value in item.items() if key not in _PLAIN_KEYS and _is_operator(key)}
    return "", kinds.parts_of_operators(operators, item) if operators else ()


def _is_operator(key: str) -> bool:
    return kinds.is_operators({key: None})


def _sentence(item: Mapping[str, Any], kind: str) -> str:
    for key in _SENTENCE:
        value = item.get(key)
        if key == "check" and kind:
            continue
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _told(parts: tuple[Part, ...]) -> str:
    """A sentence for a check that has none."""
    words = {
        "any": "holds any of", "all": "holds", "none": "does not hold", "regex_any": "matches",
        "regex_all": "matches", "regex_none": "does not match", "ordered": "holds in this order",
        "count": "holds often enough", "count_regex": "matches often enough", "exists": "exists",
        "missing": "does not exist", "tool": "tool used", "no_tool": "tool not used",
        "command": "command ran", "no_command": "command did not run", "run": "command exits well",
    }  # fmt: skip
    told: list[str] = []
    for part in parts:
        values = ", ".join(part.values)
        if part.op in ("exists", "missing"):
            told.append(f"{values} {words[part.op]}")
        elif part.op in ("tool", "no_tool", "command", "no_command", "run"):
            told.append(f"{words[part.op]}: {values}")
        else:
            told.append(f"{part.path or part.where} {words[part.op]} {values}")
    return "; ".join(told)[:200]
