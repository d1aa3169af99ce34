"""The tail of a process's output keeps lines whole and in the order they began."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sphynx.runner.eve.output import OutputTail


def test_a_line_in_pieces_stays_whole_where_it_began() -> None:
    """Another stream's line in between does not tear it."""
    tail = OutputTail()
    tail.feed("stdout", b"par")
    tail.feed("stderr", b"error: X\nmore")
    tail.feed("stdout", b"tial\r\nnext")
    assert tail.last(5) == ["partial", "error: X", "more", "next"]


def test_empty_lines_banners_and_colours_are_left_out() -> None:
    """What is left says why it ended."""
    tail = OutputTail()
    tail.feed("stdout", "☰eve v0.80.1\n".encode())
    tail.feed("stderr", b"\n\x1b[31mboom\x1b[39m\n   \nNode.js v24.1.0\n")
    assert tail.last(5) == ["boom"]


def test_only_the_last_lines_count() -> None:
    """Five of many; one endless line is cut."""
    tail = OutputTail()
    for number in range(1000):
        tail.feed("stdout", f"line {number}\n".encode())
    tail.feed("stderr", b"x" * 1_000_000)
    assert tail.last(3) == ["line 998", "line 999", "x" * 2000]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), max_size=20),
    st.data(),
)
def test_pieces_do_not_matter(lines: list[str], data: st.DataObject) -> None:
    """However the bytes are split, the lines are the same."""
    raw = "".join(line + "\n" for line in lines).encode()
    tail, place = OutputTail(), 0
    while place < len(raw):
        size = data.draw(st.integers(1, 20))
        tail.feed("stdout", raw[place : place + size])
        place += size
    whole = OutputTail()
    whole.feed("stdout", raw)
    assert tail.last(50) == whole.last(50)
