"""The worked cases of the contract (``tests/data/cases*.json``), ready to be used as test parameters."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
QUIET_MARK = "\u205e"
"""Stands inside made-up keys in the files, so that secret scanners leave them alone."""


@cache
def all_cases() -> tuple[dict[str, Any], ...]:
    """Every case of both files, as it is written there."""
    cases: list[dict[str, Any]] = []
    for name in ("cases.json", "cases-2.json"):
        text = (DATA / name).read_text(encoding="utf-8").replace(QUIET_MARK, "")
        cases.extend(json.loads(text)["cases"])
    return tuple(cases)


def load(area: str) -> list[dict[str, Any]]:
    """Every case of one area, fresh, with ``{"repeat": x, "times": n}`` built out.

    A text repeats to a longer text, anything else to a list; a list of times gives one text for each.
    """
    found = [case for case in all_cases() if case["area"] == area]
    if not found:
        raise LookupError(f"no worked cases in area {area!r}")
    return [_built(case) for case in found]


def case_id(case: dict[str, Any]) -> str:
    """The case's id, for ``pytest.mark.parametrize(..., ids=case_id)``."""
    return case["id"]


def _built(value: Any) -> Any:
    if isinstance(value, list):
        return [_built(item) for item in value]
    if not isinstance(value, dict):
        return value
    built = {key: _built(item) for key, item in value.items()}
    if set(built) == {"repeat", "times"}:
        return _repeated(built["repeat"], built["times"])
    return built


def _repeated(piece: Any, times: Any) -> Any:
    if isinstance(times, list):
        return [_repeated(piece, count) for count in times]
    return piece * times if isinstance(piece, str) else [_built(piece) for _ in range(times)]
