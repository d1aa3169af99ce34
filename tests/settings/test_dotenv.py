"""Env files are read by the rules of the contract."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.settings.dotenv import parse


@pytest.mark.parametrize("case", load("env-file"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    found = parse(case["input"]["text"])
    assert [list(entry) for entry in found.entries] == case["expected"]["entries"]
    assert list(found.empty) == case["expected"]["empty"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'A="say \"hi\"\\ \n\t\r \x"', 'say "hi"\\ \n\t\r \\x'),
        ('A="a # b" # c', "a # b"),
        ("A='it''s'", "it"),
        ("A=it's", "it's"),
        ('A="x', '"x'),
        ("A='x", "'x"),
        ('A=x "y" # z', 'x "y"'),
        ("A=#none", ""),
        ("  export\tA =  b  ", "b"),
        ("exportA=b", None),
        ("A:b", None),
    ],
)
def test_value_forms(text: str, value: str | None) -> None:
    """Escapes, comments, quotes that do and do not close, blanks anywhere."""
    found = parse(text)
    values = {**dict(found.entries), **dict.fromkeys(found.empty, "")}
    assert values.get("A") == value


def test_a_quote_that_never_closes_takes_one_line() -> None:
    """The lines after it are read as usual."""
    assert parse('A="open\nB=2\n').entries == (("A", '"open'), ("B", "2"))


def test_a_quoted_value_ends_where_it_closes() -> None:
    """Line breaks inside are LF, also in a CRLF file; what follows the quote on its line is dropped."""
    assert parse("A='one\r\n two' B=3\r\nC=4").entries == (("A", "one\n two"), ("C", "4"))


def test_a_name_that_becomes_empty_is_empty() -> None:
    """The last value of a repeated name counts, also when it is none."""
    found = parse("A=1\nB=2\nA=\n")
    assert (found.entries, found.empty) == ((("B", "2"),), ("A",))


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(st.dictionaries(names, st.text(st.characters(exclude_characters="\r", codec="utf-8"), min_size=1)))
def test_what_is_written_quoted_comes_back(values: dict[str, str]) -> None:
    """Any text survives in double quotes with backslash and quote escaped."""
    lines = [
        f'{name}="{value.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"'
        for name, value in values.items()
    ]
    assert parse("\n".join(lines)).entries == tuple(values.items())


@given(st.text(max_size=200))
def test_no_text_raises(text: str) -> None:
    """Whatever a file holds; an entry is never empty."""
    found = parse(text)
    assert all(name and value for name, value in found.entries)


def test_many_open_quotes_are_fast() -> None:
    """A file of lines that open a quote is read once, not once a line."""
    began = time.process_time()
    parse('A="x\n' * 1 + "B='y\n" * 1 + "".join(f"N{n}='z\n" for n in range(1, 20_001, 2)))
    assert time.process_time() - began < 3
