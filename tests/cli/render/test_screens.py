"""The screens people see, written out."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_trials import CASE, MIXED, batch, check, cost, trial

from sphynx.cli.render import diff, grid, summary
from sphynx.cli.render.board import Board
from sphynx.cli.render.junit import junit_xml
from sphynx.cli.render.problems import error_lines
from sphynx.cli.render.style import Style
from sphynx.cli.render.text import width
from sphynx.cli.render.verdict import verdict_lines
from sphynx.errors import DefinitionError, Problem, SphynxError
from sphynx.schema.records import Score, UsageRecord, VerifyStep

WIDE = Style(width=120)


def test_the_final_grid_says_what_may_be_concluded() -> None:
    board = Board.of(batch("command/steady", "command/flaky"), MIXED)
    assert grid.head_lines(board, WIDE, jobs=2) == [
        "hello (examples/hello_eval.py)  1 case × 2 variants × 3 trials = 6 trials, 2 at a time"
    ]
    assert grid.final_lines(board, replace(WIDE, width=140)) == [
        "  writes-hello",
        "    ✓ command/steady   ✓✓✓   100%   3 of 3 scored           95% CI 44-100   deterministic"
        "   pass@3 100%  pass^3 100%   $0.04",
        "    ✗ command/flaky    ✓✗○    50%   2 of 3 scored, 1 void   95% CI 9-91"
        "                     pass@2 100%  pass^2 0%",
    ]


def test_a_resumed_run_says_how_much_is_left() -> None:
    board = Board.of(batch("command/steady"), [trial("passed", 1)])
    head = "hello (examples/hello_eval.py)  1 case × 1 variant × 3 trials = 3 trials"
    assert grid.head_lines(board, WIDE, jobs=4, recorded=1) == [f"{head}, 2 left to run, 2 at a time"]
    done = Board.of(batch("command/steady"), [trial("passed", n) for n in (1, 2, 3)])
    assert grid.head_lines(done, WIDE, jobs=4, recorded=3) == [f"{head}, all of them recorded"]
    assert grid.head_lines(board, WIDE) == [head]


def test_what_finds_no_room_goes_onto_a_second_line() -> None:
    board = Board.of(batch("command/steady", "command/flaky"), MIXED)
    lines = grid.final_lines(board, replace(WIDE, width=60))
    assert lines == [
        "  writes-hello",
        "    ✓ command/steady   ✓✓✓   100%   3 of 3 scored",
        "      95% CI 44-100   deterministic",
        "        pass@3 100%  pass^3 100%   $0.04",
        "    ✗ command/flaky    ✓✗○    50%   2 of 3 scored, 1 void",
        "      95% CI 9-91   pass@2 100%  pass^2 0%",
    ]


def test_a_run_without_a_scored_trial_has_no_rate() -> None:
    board = Board.of(batch("command/steady", trials=2), [trial("void", 1), trial("timed_out", 2)])
    assert (
        grid.final_lines(board, WIDE)[1]
        == "    ○ command/steady   ○○   -   0 of 2 scored, 1 void, 1 timed out"
    )


def test_trials_that_never_ran_are_counted_apart() -> None:
    board = Board.of(batch("command/steady"), [trial("passed", 1)])
    assert grid.final_lines(board, WIDE)[1] == "    ◐ command/steady   ✓··   100%   1 of 3 scored, 2 not run"


def test_measurements_stand_below_their_run_and_never_in_its_rate() -> None:
    records = [
        trial("passed", n, scores=[Score(check="exact", score=n / 4, metrics={"letters": 10.0 * n})])
        for n in (1, 2, 3)
    ]
    lines = grid.final_lines(Board.of(batch("command/steady"), records), WIDE)
    assert lines[-2:] == [
        "      exact: score     mean 0.5 ± 0.25   from 0.25 to 0.75   3 trials",
        "      exact: letters   mean 20 ± 10      from 10 to 30       3 trials",
    ]


def test_the_live_grid_shows_what_runs_and_how_long_it_may_take() -> None:
    board = Board.of(batch("codex/gpt-5.6-sol", "claude/claude-sonnet-5"), [])
    for ordinal in (1, 2):
        board.ended(
            trial("passed", ordinal, "codex/gpt-5.6-sol", duration_ms=20_000, costs=[cost("model", 0.055)])
        )
    for label, ordinal in (("codex/gpt-5.6-sol", 3), ("claude/claude-sonnet-5", 1)):
        cell = board.cell(CASE, label, ordinal)
        assert cell is not None
        cell.status, cell.since = "running", 99.0
    lines = grid.live_lines([board], WIDE, 100.0, height=20)
    assert lines == [
        "",
        "  writes-hello",
        "    ◐ codex/gpt-5.6-sol        ✓✓◐   100%   41s   $0.11",
        "    ◐ claude/claude-sonnet-5   ◐··      -    1s",
    ]
    status = grid.status_line([board], 2, 100.0, 58.0, WIDE)
    assert status == "  2 of 6 trials done, 2 running, about 39s left    42s"


def test_the_live_grid_never_outgrows_the_screen() -> None:
    labels = [f"command/m{n}" for n in range(30)]
    board = Board.of(batch(*labels), [])
    cell = board.cell(CASE, "command/m7", 1)
    assert cell is not None
    cell.status, cell.since = "running", 0.0
    lines = grid.live_lines([board], WIDE, 3.0, height=10)
    assert len(lines) <= 10
    assert "command/m7" in lines[1]
    assert lines[-1] == "  … 29 more rows"


def test_the_summary_lists_every_trial_with_its_reason() -> None:
    assert summary.trial_lines(MIXED, WIDE, numbered=True) == [
        "  ✓ passed     writes-hello on command/steady #1    0.3s",
        "  ✓ passed     writes-hello on command/steady #2    0.3s",
        "  ✓ passed     writes-hello on command/steady #3    0.3s",
        "  ✓ passed     writes-hello on command/flaky #1     0.4s",
        "  ✗ failed     writes-hello on command/flaky #2     0.4s",
        '               hello.txt says "helo", expected "hello"',
        "  ○ void       writes-hello on command/flaky #3    1m01s",
        "               setup: prepare exited with status 3: seed: no such table",
    ]


def test_the_totals_never_invent_a_price() -> None:
    assert summary.totals_lines(MIXED, WIDE, 1_900) == [
        "  6 trials: 4 passed, 1 failed, 1 void    1.9s    12k tokens (11k in, 1k out), at least $0.04 est."
    ]
    assert summary.cost_lines(MIXED, WIDE) == ["  model $0.03, judges $0.01, price of 1 trial not known"]
    free = [trial("passed", costs=[cost("sandbox", 0.0)])]
    assert summary.totals_lines(free, WIDE, 300) == ["  1 trial: 1 passed    0.3s"]
    assert summary.cost_lines(free, WIDE) == []


def test_agents_that_count_no_tokens_are_not_told_again_and_again() -> None:
    """Only where there is a sum they are missing from, or tokens without a price, does the line stand."""
    own = trial("passed", costs=[cost("model", None)], costs_incomplete=True, usage=None)
    paid = trial("passed", costs=[cost("model", 0.03)])
    counting = own.model_copy(update={"usage": UsageRecord(input_tokens=1, output_tokens=1, total_tokens=2)})
    agent = own.model_copy(update={"harness": "codex"})
    assert own.harness == "command"
    assert summary.cost_lines([own], WIDE) == []
    assert summary.cost_lines([own, paid], WIDE) == ["  model $0.03, price of 1 trial not known"]
    assert summary.cost_lines([own, counting], WIDE) == ["  price of 2 trials not known"]
    assert summary.cost_lines([agent], WIDE) == ["  price of 1 trial not known"]


def test_a_name_too_long_for_the_line_goes_on_in_the_next() -> None:
    lines = summary.trial_lines(
        [trial(case_id="a-very-long-case-name")], replace(WIDE, width=50), numbered=True
    )
    assert lines == [
        "  ✓ passed     a-very-long-case-name on       0.3s",
        "                 command/steady #1",
    ]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (trial("failed", validations=[check("a", "failed"), check("b", "failed", "no b")]),
         ["a did not pass", "b: no b"]),
        (trial("failed", validations=[check("bun test", "failed", "exited with status 1", kind="command")]),
         ["bun test: exited with status 1"]),
        (trial("failed", verify_steps=[VerifyStep(command="bun test", exit_code=1)]), ["exit 1: bun test"]),
        (trial("timed_out", cause="limit", reason="The agent ran past its time limit of 5m"),
         ["limit: The agent ran past its time limit of 5m"]),
        (trial("void", cause="check", void_fields=["validator"]), ["check: validator"]),
        (trial("passed"), []),
    ],
)  # fmt: skip
def test_every_trial_that_did_not_pass_says_why(record, said) -> None:
    assert summary.reasons(record) == said


def test_a_verdict_is_wrapped_and_cannot_drive_the_terminal() -> None:
    record = trial("failed", validations=[check("x", "failed", "\x1b[2Jone two three four\nfive")])
    assert verdict_lines(record, replace(WIDE, width=20)) == [
        "  ✗ failed · 0 of 1",
        "  checks passed",
        "    ✗ x · 3ms",
        "      one two three",
        "      four",
        "      five",
    ]


def test_a_diff_shows_each_file_with_its_counts() -> None:
    text = (
        "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n"
        "@@ -0,0 +1,2 @@\n+a\n+-- b\n"
        "diff --git a/pic.png b/pic.png\nBinary or large file pic.png not shown (0 to 9 bytes)\n"
        "diff --git a/old.txt b/old.txt\ndeleted file mode 100644\n--- a/old.txt\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-gone\n"
    )
    assert diff.diff_lines(trial(diff=text, diff_truncated=True), WIDE) == [
        "  changed   new.txt  +2 -0",
        "            @@ -0,0 +1,2 @@",
        "            +a",
        "            +-- b",
        "  changed   pic.png  +0 -0",
        "            Binary or large file pic.png not shown (0 to 9 bytes)",
        "  changed   old.txt  +0 -1",
        "            @@ -1 +0,0 @@",
        "            -gone",
        "            … the diff was cut here",
    ]
    assert diff.diff_lines(trial(files_changed=["a.txt"]), WIDE) == ["  changed   a.txt"]


def test_junit_tells_a_failure_from_an_error() -> None:
    xml = junit_xml([(batch("command/steady", "command/flaky"), MIXED)])
    root = ElementTree.fromstring(xml)
    (suite,) = root
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "hello", "tests": "6", "failures": "1", "errors": "1", "skipped": "0",
    }  # fmt: skip
    cases = suite.findall("testcase")
    assert cases[4].get("classname") == "hello.writes-hello"
    assert cases[4].get("name") == "writes-hello on command/flaky #2"
    failure, error = cases[4].find("failure"), cases[5].find("error")
    assert failure is not None
    assert failure.get("message") == 'hello.txt says "helo", expected "hello"'
    assert error is not None
    assert error.get("type") == "setup"


def test_junit_of_a_run_that_was_cut_off_is_not_green() -> None:
    """What was cancelled, timed out or void is an error; nothing is skipped."""
    records = [trial("cancelled", 1, reason="interrupted"), trial("timed_out", 2), trial("void", 3)]
    (suite,) = ElementTree.fromstring(junit_xml([(batch("command/steady"), records)]))
    assert [suite.get(name) for name in ("failures", "errors", "skipped")] == ["0", "3", "0"]
    (cancelled, *_) = suite.iter("error")
    assert (cancelled.get("type"), cancelled.get("message")) == ("cancelled", "interrupted")


@given(st.text(), st.text())
def test_junit_is_valid_whatever_a_check_says(message: str, reason: str) -> None:
    records = [
        trial("failed", 1, validations=[check("x", "failed", message)]),
        trial("void", 2, reason=reason, cause="setup"),
    ]
    root = ElementTree.fromstring(junit_xml([(batch("command/steady"), records)]))
    assert len(root.findall(".//testcase")) == 2


def test_every_problem_of_a_definition_is_told_with_its_hint() -> None:
    problems = [
        Problem('unknown field "timout_ms"', file="smoke_eval.py", where='suite "smoke", case "writes-hello"',
                hint='did you mean "timeout_ms"?'),
        Problem("id must be lowercase letters, digits and single hyphens, at most 100", file="smoke_eval.py",
                where='suite "smoke", case "Reads It"'),
    ]  # fmt: skip
    assert error_lines(DefinitionError(problems), WIDE) == [
        'error: smoke_eval.py: suite "smoke", case "writes-hello": unknown field "timout_ms"',
        '  hint: did you mean "timeout_ms"?',
        'error: smoke_eval.py: suite "smoke", case "Reads It": '
        "id must be lowercase letters, digits and single hyphens, at most 100",
        "error: 2 problems in 1 file, nothing was started",
    ]
    raising = Problem("other_eval.py:3: RuntimeError: boom")
    told = error_lines(DefinitionError([*problems, raising]), WIDE)
    assert told[-1] == "error: 3 problems in 2 files, nothing was started"
    assert error_lines(SphynxError("no case", hint="there are: a, b"), WIDE) == [
        "error: no case",
        "  hint: there are: a, b",
    ]


@given(
    st.integers(40, 160),
    st.lists(st.sampled_from(["passed", "failed", "void", "timed_out"]), min_size=1, max_size=10),
)
def test_no_screen_is_wider_than_its_terminal(cells: int, statuses: list[str]) -> None:
    style = Style(width=cells, colour=True)
    label = "command/a-model-with-a-long-name@and-a-profile"
    records = [trial(status, n + 1, label) for n, status in enumerate(statuses)]
    board = Board.of(batch(label, trials=len(records)), records)
    lines = [
        *grid.head_lines(board, style, jobs=4),
        *grid.final_lines(board, style),
        *grid.live_lines([board], style, 1.0, height=30),
        *summary.trial_lines(records, style, numbered=True),
        *summary.totals_lines(records, style, 1_000),
    ]
    assert [line for line in lines if width(line) > max(cells, 60)] == []
