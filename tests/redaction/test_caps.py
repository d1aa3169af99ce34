"""Texts are cut the way the wire counts them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sphynx.redaction import cut, utf16_length


@given(text=st.text(max_size=60), limit=st.integers(0, 40))
def test_a_cut_keeps_a_prefix_within_the_limit(text: str, limit: int) -> None:
    """At most ``limit`` UTF-16 units, as many as fit, never half a character; the flag tells the truth."""
    kept, truncated = cut(text, limit)
    assert text.startswith(kept)
    assert utf16_length(kept) <= limit
    assert truncated == (len(kept) < len(text))
    if truncated:
        assert utf16_length(text[: len(kept) + 1]) > limit


@given(st.text(max_size=60))
def test_length_counts_utf16_units(text: str) -> None:
    """The same number another language's string length gives."""
    assert utf16_length(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2


def test_a_character_of_two_units_is_kept_whole_or_left_out() -> None:
    """The 4,000th unit may be the first half of one: it stays out."""
    assert cut("a" * 3999 + "😀", 4000) == ("a" * 3999, True)
    assert cut("a" * 3998 + "😀", 4000) == ("a" * 3998 + "😀", False)
