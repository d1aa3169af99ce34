"""Text of others is made safe, and nothing is lost when it is wrapped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sphynx.cli.render import figures
from sphynx.cli.render.text import clean, cut, cut_left, one_line, width, wrap


@given(st.text())
def test_cleaned_text_holds_no_control_character_but_the_line_feed(text: str) -> None:
    assert all(char == "\n" or not (ord(char) < 32 or 127 <= ord(char) < 160) for char in clean(text))


@given(st.text(), st.integers(8, 80))
def test_wrapped_text_fits_and_loses_only_blanks(text: str, cells: int) -> None:
    lines = wrap(text, cells)
    assert all(width(line) <= cells for line in lines)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())


@given(st.text(), st.integers(2, 40))
def test_cut_text_fits(text: str, cells: int) -> None:
    assert width(cut(one_line(text), cells)) <= cells
    assert width(cut_left(one_line(text), cells)) <= cells


def test_wide_characters_count_twice() -> None:
    assert width("日本") == 4
    assert wrap("日本語" * 4, 8) == ["日本語日", "本語日本", "語日本語"]


def test_numbers_read_as_people_write_them() -> None:
    assert [figures.duration(ms) for ms in (0, 340, 41_200, 59_990, 300_000, 3_720_000)] == [
        "0ms", "0.3s", "41.2s", "1m00s", "5m00s", "1h02m",
    ]  # fmt: skip
    assert [figures.elapsed(ms) for ms in (42_000, 185_000)] == ["42s", "3m05s"]
    assert [figures.tokens(n) for n in (412, 12_345, 999_900, 1_400_000)] == ["412", "12k", "1.0M", "1.4M"]
    assert [figures.money(usd) for usd in (0.0, 0.001, 0.036, 1234.5)] == [
        "$0.00",
        "<$0.01",
        "$0.04",
        "$1,234.50",
    ]
    assert [figures.percent(rate) for rate in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "1%", "50%", "99%", "100%"]
    assert [figures.bytes_size(n) for n in (0, 12_400, 1_234_000_000)] == ["0 B", "12 kB", "1.2 GB"]
