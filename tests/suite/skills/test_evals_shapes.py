"""The shapes people write: authored inputs with their counts, and generated ones that must never crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sphynx.suite.skills.reading import read_evals

SHAPES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "evals-shapes.json").read_text("utf-8")
)["cases"]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape["id"])
def test_each_authored_shape_is_read_as_expected(shape: dict[str, Any]) -> None:
    """Counts, ids, the words of an error and the words of the summary."""
    read, expected = read_evals(shape["input"]), shape["expected"]
    assert len(read.cases) == expected["cases"]
    assert read.judged == expected["prose_assertions"]
    assert read.converted == expected["converted"]
    errors = " ".join(found.message for found in read.errors).lower()
    if expected["error"] is None:
        assert errors == ""
    for word in expected["error"] or []:
        assert word.lower() in errors
    if "ids" in expected:
        assert [case.id for case in read.cases] == expected["ids"]
    told = " ".join(found.message for found in read.findings).lower()
    for word in expected.get("warns", []):
        assert word.lower() in told


texts = st.sampled_from(
    ["Lists three rows", "", "  ", "潮汐", "/run it", "a {{PORT}} b", "x" * 300, "[", "naïve"]
)
scalars = st.one_of(texts, st.integers(-3, 9), st.floats(allow_nan=False), st.booleans(), st.none())
kinds = st.sampled_from(
    [
        "content_contains",
        "regex_includes",
        "file_exists",
        "tool_use",
        "semantic",
        "sonar",
        "code-count",
        3,
        "",
    ]
)
operands = st.one_of(scalars, st.lists(scalars, max_size=3))
objects = st.fixed_dictionaries(
    {},
    optional={
        "text": scalars, "description": scalars, "name": scalars, "kind": kinds, "type": kinds,
        "needles": operands, "value": operands, "pattern": operands, "path": operands, "cmd": scalars,
        "min_count": scalars,
        "check": st.one_of(operands, st.dictionaries(kinds.map(str), operands, max_size=2)),
    },
)  # fmt: skip
criteria = st.one_of(
    scalars,
    st.lists(st.one_of(texts, objects, scalars), max_size=4),
    st.dictionaries(texts, texts, max_size=3),
)
files = st.one_of(
    scalars, st.lists(st.one_of(scalars, st.sampled_from(["../x", "/etc/x", "a/b.csv"])), max_size=3)
)
cases = st.one_of(
    scalars,
    st.fixed_dictionaries(
        {},
        optional={
            "id": scalars, "name": scalars, "prompt": scalars, "query": scalars, "assertions": criteria,
            "expectations": criteria, "must_not_have": criteria, "rubric": criteria, "expected": criteria,
            "expected_output": operands, "files": files, "should_trigger": operands, "tags": operands,
            "timeout_seconds": scalars, "turns": operands, "extra": scalars,
        },
    ),
)  # fmt: skip
lists = st.lists(cases, max_size=5)
evals_files = st.one_of(
    lists,
    scalars,
    st.fixed_dictionaries(
        {},
        optional={
            "skill_name": scalars, "evals": st.one_of(lists, scalars), "cases": lists,
            "pressure_tests": lists, "should_trigger": st.one_of(lists, scalars), "should_not_trigger": lists,
            "notes": scalars, "tide": st.fixed_dictionaries({"should_trigger": lists}),
        },
    ),
)  # fmt: skip


@settings(max_examples=1_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=evals_files)
def test_every_case_of_a_generated_file_is_imported_or_refused_with_a_reason(value: Any) -> None:
    """Never a crash; a case is read, or an error names it by its number, line and column."""
    strict = read_evals(json.dumps(value))
    lenient = read_evals(json.dumps(value), skip_invalid=True)
    refused = {found.case for found in lenient.errors if found.case}
    if not any(found.case == 0 for found in lenient.errors):
        assert len(lenient.cases) + len(refused) == lenient.total
    assert strict.cases == (() if strict.errors else lenient.cases)
    assert lenient.cases or lenient.errors
    assert len({case.id for case in lenient.cases}) == len(lenient.cases)
    for found in lenient.findings:
        assert found.place.line >= 1
        assert found.place.column >= 1
    for case in lenient.cases:
        assert case.prompt.strip()
        assert all(criterion.text for criterion in case.criteria)


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet='{}[]",:abc 01\\\n-.eE', max_size=60))
def test_any_text_is_read_or_refused_with_line_and_column(text: str) -> None:
    """The strict reader agrees with Python's own about what is JSON."""
    read = read_evals(text)
    try:
        json.loads(text)
    except ValueError:
        assert "not valid JSON" in read.errors[0].message
        assert "line" in read.errors[0].message


def test_a_key_is_found_on_its_line() -> None:
    """Line and column of an error point at the value it is about."""
    text = '{\n "skill_name": "tide",\n "evals": [\n  {"id": 1, "prompt": "  ", "assertions": ["x"]}\n ]\n}'
    place = read_evals(text).errors[0].place
    assert (place.line, place.column) == (4, 23)


def test_texts_that_both_lists_hold_count_once() -> None:
    """``assertions`` and ``expectations`` are one list."""
    case = {"id": 1, "prompt": "p", "assertions": ["A row", "A unit"], "expectations": ["a row", "A date"]}
    assert [c.text for c in read_evals(json.dumps([case])).cases[0].criteria] == ["A row", "A unit", "A date"]


def test_deep_nesting_is_refused() -> None:
    """A file nested beyond reason is an error, not a crash."""
    assert "nesting" in read_evals("[" * 100_000).errors[0].message
