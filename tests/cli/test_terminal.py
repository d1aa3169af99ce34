"""In a terminal: a live grid below scrolling lines, and a terminal left as it was found."""

from __future__ import annotations

import re

from command_line import CommandLine, plain

CURSOR_UP = re.compile(r"\x1b\[\d+F\x1b\[J")


def test_the_grid_stays_below_the_transcript_and_goes_when_the_run_ends(project: CommandLine) -> None:
    project.agent("sleep 0.4; printf hello > hello.txt")
    project.one(suite="trials=3,")
    code, seen = project.terminal("eval", "--local", "--jobs", "1")
    assert code == 0, seen
    assert len(CURSOR_UP.findall(seen)) > 3
    assert re.search(r"  \d of 3 trials done, 1 running", plain(seen))
    assert "about" in plain(seen)
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") > 0
    tail = plain(seen[seen.rindex("\x1b[?25h") :])
    assert "trials done" not in tail
    assert "✓✓✓" in plain(seen)
    assert "\x1b[32m✓\x1b[0m" in seen


def test_a_redraw_comes_at_most_ten_times_a_second(project: CommandLine) -> None:
    said = '{"_tag":"Message","role":"assistant","text":"%s","usage":null}'
    project.agent(f"for n in $(seq 200); do printf '{said}\\n' $n; sleep 0.005; done")
    project.one(check="true")
    code, seen = project.terminal("eval", "--local")
    assert code == 0
    took = float(re.search(r"✓ passed     .* (\d+\.\d)s", plain(seen))[1])  # type: ignore[index]
    assert len(CURSOR_UP.findall(seen)) <= 10 * (took + 1) + 3
    assert "    200\n" in plain(seen)


def test_no_colour_when_it_is_not_wanted(project: CommandLine) -> None:
    project.one()
    code, seen = project.terminal("eval", "--local", NO_COLOR="1")
    assert code == 0
    assert "\x1b[32m" not in seen
    assert "✓" in seen


def test_a_dumb_terminal_gets_plain_ascii_lines(project: CommandLine) -> None:
    project.one(suite="trials=2,")
    code, seen = project.terminal("eval", "--local", TERM="dumb")
    assert code == 0
    assert "\x1b" not in seen
    assert seen.isascii()
    assert "    + command/scripted@agent   ++   100%" in seen
    assert "  > User" in seen


def test_an_encoding_without_our_symbols_gets_ascii_and_no_traceback(project: CommandLine) -> None:
    project.one(check="echo 'naïve ✓' >&2; exit 1")
    done = project.sphynx("eval", "--local", PYTHONIOENCODING="ascii", LANG="C")
    assert done.code == 2
    assert done.out.isascii()
    assert "x failed" in done.out


def test_no_line_of_the_grid_is_wider_than_the_terminal(project: CommandLine) -> None:
    project.suite(
        """
        smoke = suite(id="smoke", prompt="x", trials=5, variants=[variant(**AGENT)],
                      cases=[case(id=f"a-case-with-a-rather-long-name-{n}", validate=command("true"))
                             for n in range(3)])
        """
    )
    code, seen = project.terminal("eval", "--local", "--jobs", "4", size=(12, 60))
    assert code == 0
    assert max(len(line) for line in plain(seen).splitlines()) <= 60
