"""Placeholders are filled once, and nothing else of a prompt changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.suite.placeholders import names, render

NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,8}", fullmatch=True)
PLAIN = st.text(st.characters(exclude_characters="{\\", exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("prompt", "values", "text", "missing", "unused"),
    [
        ("{{task}}", {"task": "Do it"}, "Do it", [], []),
        ("{{ task }} twice {{task}}", {"task": "x"}, "x twice x", [], []),
        ("{{a}} {{b}}", {"a": "{{b}}", "b": "2"}, "{{b}} 2", [], []),
        (r"\{{a}} {{a}}", {"a": "1"}, "{{a}} 1", [], []),
        (r"\{{a}}", {"a": "1"}, "{{a}}", [], ["a"]),
        ("{{b}} {{a}} {{b}}", {}, "{{b}} {{a}} {{b}}", ["b", "a"], []),
        ("{a} {{}} {{#if x}} {{ two words }} }}", {}, "{a} {{}} {{#if x}} {{ two words }} }}", [], []),
        ("{{{a}}}", {"a": "1"}, "{1}", [], []),
        ("{{a}}", {"a": r"\1 \g<0>"}, r"\1 \g<0>", [], []),
        ("", {"a": "1"}, "", [], ["a"]),
    ],
)
def test_examples(
    prompt: str, values: dict[str, str], text: str, missing: list[str], unused: list[str]
) -> None:
    """Values are put in verbatim; a name without a value stays and is told."""
    assert render(prompt, values) == (text, missing, unused)


@given(st.lists(st.tuples(PLAIN, NAMES)), PLAIN, st.text())
def test_a_prompt_is_its_parts_with_values_between(
    parts: list[tuple[str, str]], end: str, value: str
) -> None:
    """Filling a prompt is putting the value at each placeholder, whatever the value holds."""
    prompt = "".join(f"{plain}{{{{{name}}}}}" for plain, name in parts) + end
    values = {name: value for _, name in parts}
    assert render(prompt, values) == ("".join(plain + value for plain, _ in parts) + end, [], [])
    assert names(prompt) == list(values)


@given(st.text(), st.dictionaries(NAMES, st.text()))
def test_any_prompt_renders(prompt: str, values: dict[str, str]) -> None:
    """No prompt breaks it: used, missing and unused names add up."""
    _, missing, unused = render(prompt, values)
    asked = names(prompt)
    assert missing == [name for name in asked if name not in values]
    assert set(unused) == set(values) - set(asked)


@given(st.text())
def test_escaped_braces_are_literal(text: str) -> None:
    """A prompt whose every ``{{`` is escaped comes out as it was meant, without placeholders."""
    plain = text.replace("\\", "/").replace("{{{", "{{ {")
    assert render(plain.replace("{{", r"\{{"), {}) == (plain, [], [])
