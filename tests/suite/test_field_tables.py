"""The field tables and the TypedDicts an editor reads say the same."""

from __future__ import annotations

import pytest

from sphynx.suite import cases, checks, judges, people, shapes, suites, variants

PAIRS = [
    (suites.SUITE_FIELDS, shapes.SuiteFields),
    (cases.CASE_FIELDS, shapes.CaseFields),
    (cases.CACHE_FIELDS, shapes.CacheFields),
    (variants.VARIANT_FIELDS, shapes.VariantFields),
    (variants.PROFILE_FIELDS, shapes.ProfileFields),
    (checks.COMMAND_FIELDS, shapes.CommandFields),
    (checks.NAMED_FIELDS, shapes.NamedFields),
    (people.SCRIPT_FIELDS, shapes.ScriptFields),
    (people.HUMAN_FIELDS, shapes.HumanFields),
    (judges.JUDGE_FIELDS, shapes.JudgeFields),
]


@pytest.mark.parametrize(("table", "shape"), PAIRS, ids=lambda value: getattr(value, "__name__", ""))
def test_table_and_type_agree(table, shape) -> None:
    """Same names in the same order, same annotation, same required fields."""
    written = {name: hint.__forward_arg__ for name, hint in shape.__annotations__.items()}
    needed = {name for name, text in written.items() if text.startswith("Required[") or shape.__total__}
    plain = {name: text.removeprefix("Required[").removesuffix("]") if text.startswith("Required[") else text
             for name, text in written.items()}  # fmt: skip
    assert list(plain.items()) == [(field.name, field.type) for field in table]
    assert needed == {field.name for field in table if field.required}


@pytest.mark.parametrize("table", [table for table, _ in PAIRS])
def test_every_field_says_what_it_is_for(table) -> None:
    """The reference is generated from the tables, so none is without words."""
    for field in table:
        assert field.doc
        assert not field.doc.endswith(".")
