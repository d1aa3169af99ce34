"""Text checks ignore case and mean what they say on empty input."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sphynx.validators import contains_all, contains_any, contains_none


def test_examples() -> None:
    """Any, all, none; case never matters."""
    text = "The tide is HIGH at noon"
    assert contains_any(text, ["low", "high"])
    assert not contains_any(text, ["low"])
    assert contains_all(text, ["TIDE", "noon"])
    assert not contains_all(text, ["tide", "low"])
    assert contains_none(text, ["low", "ebb"])
    assert not contains_none(text, ["low", "Tide"])


def test_one_text_is_one_needle() -> None:
    """A text instead of a list is not taken letter by letter."""
    assert not contains_any("abc", "cab")
    assert contains_all("abc", "BC")


def test_no_needles() -> None:
    """Nothing to find is in nothing, and nothing is missing."""
    assert (contains_any("x", []), contains_all("x", []), contains_none("x", [])) == (False, True, True)


@given(st.text(), st.lists(st.text()))
def test_none_is_the_opposite_of_any(text: str, needles: list[str]) -> None:
    """The two never agree."""
    assert contains_none(text, needles) != contains_any(text, needles)
