"""Bytes become lines without ever filling the memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sphynx.journal.lines import LineSplitter


@given(data=st.binary(max_size=200), sizes=st.lists(st.integers(1, 20), max_size=40))
def test_lines_do_not_depend_on_the_reads(data: bytes, sizes: list[int]) -> None:
    """Whatever the chunks, the lines are those of the whole, NUL and other bytes as they were."""
    splitter = LineSplitter()
    lines: list[bytes] = []
    at = 0
    for size in sizes:
        lines += splitter.feed(data[at : at + size])
        at += size
    lines += splitter.feed(data[at:]) + splitter.finish()
    expected = data.split(b"\n")
    assert lines == (expected[:-1] if expected[-1] == b"" else expected)
    assert splitter.dropped == 0


def test_a_line_too_long_is_dropped_and_counted() -> None:
    """The lines around it are kept, and the counts say how much is missing."""
    splitter = LineSplitter(limit=10)
    lines = splitter.feed(b"first\n" + b"x" * 8) + splitter.feed(b"y" * 8) + splitter.feed(b"z\nlast\n")
    assert lines == [b"first", b"last"]
    assert (splitter.dropped, splitter.dropped_bytes) == (1, 17)


def test_a_line_of_exactly_the_limit_is_kept() -> None:
    """The limit is the longest line that is kept."""
    splitter = LineSplitter(limit=4)
    assert splitter.feed(b"abcd\nabcde\n") == [b"abcd"]
    assert splitter.dropped == 1


def test_a_long_last_line_is_counted_too() -> None:
    """Also when the process ends inside it."""
    splitter = LineSplitter(limit=4)
    assert splitter.feed(b"abcdefgh") == []
    assert splitter.finish() == []
    assert (splitter.dropped, splitter.dropped_bytes) == (1, 8)
    assert splitter.finish() == []
    assert splitter.dropped == 1


def test_an_endless_line_takes_no_memory() -> None:
    """Fifty megabytes without a line break leave nothing behind."""
    splitter = LineSplitter(limit=1_000_000)
    chunk = b"x" * 65_536
    for _ in range(800):
        assert splitter.feed(chunk) == []
    assert splitter.feed(b"\nend\n") == [b"end"]
    assert splitter.dropped_bytes == 800 * 65_536
