"""The transcript is a pure function of events: what a reader sees is written out here."""

from __future__ import annotations

from dataclasses import replace

from sphynx.cli.render.style import Style
from sphynx.cli.render.transcript import Speaker, Transcript
from sphynx.journal.events import (
    Command,
    Event,
    FileChange,
    Finished,
    Message,
    MessageUsage,
    Started,
    ToolCall,
)

ONE = Speaker("writes-hello", "codex/gpt-5.6-sol", "a")
OTHER = Speaker("reads-it", "claude/claude-sonnet-5@strict", "b", 2)
STYLE = Style(width=72)
USER = Message("user", "Create hello.txt containing exactly hello", at=1_000)


def told(*events: Event, speaker: Speaker = ONE, style: Style = STYLE, whole: bool = False) -> list[str]:
    transcript = Transcript(style, whole=whole)
    return [line for event in events for line in transcript.event(speaker, event)]


def test_a_turn_lasts_until_the_agent_ended() -> None:
    """Not only until it last spoke: a slow command after that is part of the turn."""
    transcript = Transcript(Style(width=80))
    transcript.event(ONE, Message("user", "Go", at=1_000))
    transcript.event(ONE, Message("assistant", "Working on it", at=1_013))
    transcript.event(ONE, Finished("exit 0", at=4_000))
    assert transcript.settled(ONE, [])[0] == "    └ turn 1 · 3.0s"


def test_a_turn_reads_from_its_header_to_its_corner() -> None:
    transcript = Transcript(STYLE)
    events: list[Event] = [
        Started("s1", "gpt-5.6-sol"),
        USER,
        Message(
            "assistant", "I will write the file and check it.", MessageUsage(9, 9, cost_usd=0.03), at=2_000
        ),
        FileChange(("src/deep/hello.txt",)),
        Command("cat hello.txt", 0, "hello", at=2_104, started_at=2_100),
        Command("pytest -q", 1, "boom", at=6_100, started_at=3_000),
        Message("assistant", "Done.", MessageUsage(9, 9, cost_usd=0.012), at=23_300),
        Finished("completed", at=23_301),
    ]
    lines = [line for event in events for line in transcript.event(ONE, event)]
    lines += transcript.settled(ONE, ["  ✓ passed"])
    assert lines == [
        "",
        "  writes-hello  codex/gpt-5.6-sol",
        "",
        "  ❯ User",
        "    Create hello.txt containing exactly hello",
        "  ◆ Agent",
        "    I will write the file and check it.",
        "    ├ wrote    hello.txt",
        "    ├ read     hello.txt",
        "    ├ ran      pytest -q  3.1s  ✗ exit 1",
        "    Done.",
        "    └ turn 1 · 22.3s · $0.04",
        "",
        "  ✓ passed",
    ]


def test_a_header_comes_back_whenever_another_trial_speaks() -> None:
    transcript = Transcript(STYLE)
    lines = transcript.event(ONE, USER)
    lines += transcript.event(OTHER, replace_text("Read it"))
    lines += transcript.event(ONE, Command("make", 0, ""))
    heads = [line for line in lines if line.startswith("  ") and not line.startswith(("   ", "  ❯", "  ◆"))]
    assert heads == [
        "  writes-hello  codex/gpt-5.6-sol",
        "  reads-it  claude/claude-sonnet-5@strict  #2",
        "  writes-hello  codex/gpt-5.6-sol",
    ]


def replace_text(text: str) -> Message:
    return Message("user", text, at=1)


def test_a_turn_that_acted_without_a_reply_says_so() -> None:
    transcript = Transcript(STYLE)
    transcript.event(ONE, USER)
    transcript.event(ONE, Command("make", 2, ""))
    assert transcript.settled(ONE, [])[0] == "    └ turn 1 · no reply"


def test_a_turn_without_any_act_has_no_corner() -> None:
    transcript = Transcript(STYLE)
    transcript.event(ONE, USER)
    assert transcript.settled(ONE, [])[0] == "    turn 1 · no reply"


def test_the_failure_stands_where_the_reply_is_missing() -> None:
    transcript = Transcript(STYLE)
    transcript.event(ONE, USER)
    transcript.event(ONE, Finished("failed: the model refused the key"))
    assert transcript.settled(ONE, [])[0] == "    turn 1 · the model refused the key"
    other = Transcript(STYLE)
    other.event(ONE, USER)
    assert other.settled(ONE, [], "The agent ran past its time limit of 5m")[0] == (
        "    turn 1 · The agent ran past its time limit of 5m"
    )


def test_the_next_user_message_closes_the_turn_and_counts_on() -> None:
    lines = told(USER, Message("assistant", "Which file?", at=2_000), Message("user", "hello.txt", at=3_000))
    assert lines[-5:] == ["    Which file?", "    └ turn 1 · 1.0s", "", "  ❯ User", "    hello.txt"]


def test_times_and_money_that_are_not_known_are_left_out() -> None:
    transcript = Transcript(STYLE)
    transcript.event(ONE, Message("user", "go"))
    transcript.event(ONE, Message("assistant", "done"))
    assert transcript.settled(ONE, [])[0] == "    └ turn 1"


def test_a_settled_trial_is_never_heard_again() -> None:
    transcript = Transcript(STYLE)
    transcript.event(ONE, USER)
    transcript.settled(ONE, ["  ✓ passed"])
    assert transcript.event(ONE, USER) == []
    assert transcript.settled(ONE, ["  ✓ passed"]) == []
    assert transcript.event(OTHER, USER)[1] == "  reads-it  claude/claude-sonnet-5@strict  #2"


def test_text_wraps_between_words_and_keeps_the_authors_lines() -> None:
    narrow = replace(STYLE, width=30)
    lines = told(Message("user", "one two three four five six seven\n\n  - kept indent\n"), style=narrow)
    assert lines[5:] == ["    one two three four five", "    six seven", "", "      - kept indent"]


def test_a_word_no_line_can_hold_is_cut_not_lost() -> None:
    narrow = replace(STYLE, width=40)
    lines = told(Message("user", "x" * 100), style=narrow)
    assert "".join(line.strip() for line in lines[4:]) == "x" * 100
    assert max(map(len, lines)) <= 40


def test_an_agent_cannot_drive_the_terminal() -> None:
    lines = told(
        Message("assistant", "\x1b[2J\x1b]0;owned\x07safe\r\x07\x1b[31mred\x1b[0m"),
        Command("printf '\x1b[2J'", 0, ""),
    )
    assert all(ord(char) >= 32 for line in lines for char in line)
    assert "    safe" in lines
    assert "    red" in lines


def test_long_lines_of_what_was_done_are_cut_to_the_width() -> None:
    line = told(Command("echo " + "word " * 60, 1, "", at=9_000, started_at=1_000))[-1]
    assert len(line) <= STYLE.width
    assert line.endswith("…  8.0s  ✗ exit 1")


def test_a_huge_message_is_cut_live_and_whole_when_looked_back_at() -> None:
    text = "line\n" * 5_000
    live = told(Message("assistant", text))
    assert len(live) < 210
    assert live[-1] == "    … 25,000 characters in all"
    assert told(Message("assistant", text), whole=True).count("    line") == 5_000


def test_commands_only_the_shell_recorder_saw_are_counted_beyond_a_dozen() -> None:
    transcript = Transcript(STYLE)
    transcript.event(ONE, USER)
    transcript.event(ONE, Finished("exit 0"))
    lines = [line for n in range(40) for line in transcript.event(ONE, Command(f"echo {n}", None, ""))]
    assert sum("ran" in line for line in lines) == 12
    assert transcript.settled(ONE, [])[:2] == [
        "    ├ … 28 more commands seen in its shells",
        "    └ turn 1 · no reply",
    ]


def test_a_tool_call_shows_its_name_and_its_error() -> None:
    assert told(ToolCall("1", "skill", "completed", '{"skill":"a:b"}'))[-1] == "    ├ skill    a:b"
    failed = ToolCall("1", "web_fetch", "error", '{"url":"http://x.test"}', error="no route\nto host")
    assert told(failed)[-1] == "    ├ web_fetch http://x.test  ✗ no route to host"


def test_what_prepare_prints_is_marked_as_its_own() -> None:
    lines = Transcript(STYLE).output(ONE, "prepare", "seeding\n3 rows\n")
    assert lines[2:] == ["  prepare │ seeding", "  prepare │ 3 rows"]
