"""Colour, symbols and width are decided by the stream and the environment, once."""

from __future__ import annotations

import io

from sphynx.cli.render.style import Style, style_of


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True


XTERM = {"TERM": "xterm-256color", "COLUMNS": "90"}


def test_a_terminal_has_colour_symbols_and_a_live_grid() -> None:
    assert style_of(Terminal(), XTERM) == Style(colour=True, symbols=True, width=90, interactive=True)


def test_no_color_takes_the_colour_and_leaves_the_symbols() -> None:
    assert style_of(Terminal(), {**XTERM, "NO_COLOR": "1"}) == Style(False, True, 90, True)
    assert style_of(Terminal(), {**XTERM, "NO_COLOR": ""}).colour


def test_a_dumb_terminal_has_ascii_and_no_live_grid() -> None:
    for term in ("dumb", ""):
        assert style_of(Terminal(), {"TERM": term, "COLUMNS": "90"}) == Style(False, False, 90, False)


def test_an_encoding_without_symbols_gets_ascii() -> None:
    assert not style_of(Terminal("latin-1"), XTERM).symbols


def test_a_pipe_is_plain_unless_colour_is_forced() -> None:
    pipe = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    assert style_of(pipe, {}) == Style(False, True, 100, False)
    assert style_of(pipe, {"FORCE_COLOR": "1"}).colour
    assert not style_of(pipe, {"FORCE_COLOR": "1", "NO_COLOR": "1"}).colour


def test_ascii_moves_no_column() -> None:
    style = Style(symbols=False)
    line = "  ✗ failed · 1 of 2 × … ○ ◐ ❯ ◆ ├ └ │ ±"
    assert style.plain(line).isascii()
    assert len(style.plain(line)) == len(line)
