"""What holds for every transcript reader, shown on recordings of the real programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesses.transcripts.recordings import NOW, RAN, READERS, lines_of, read, recorded
from sphynx.harnesses.transcripts.reading import (
    MAX_UNREAD,
    Exit,
    api_words,
    as_text,
    clipped,
    died,
    minus,
    plain_command,
    token_usage,
)
from sphynx.journal.events import Started, Usage
from sphynx.journal.tool_names import KINDS, kind_of


@pytest.mark.parametrize("agent", RAN)
def test_the_same_work_reads_the_same_whoever_did_it(agent: str) -> None:
    turn = recorded(agent, "suite")
    commands = [(command, code, output.strip()) for command, code, output in turn.commands]
    assert commands[:2] == [
        ("echo bad; echo err >&2; exit 3", 3, "bad\nerr"),
        ("echo shell > shell.txt", 0, ""),
    ]
    assert turn.messages == ["I will run it, and then write a file.", "All done."]
    assert {path.removeprefix("/workspace/") for path in turn.files} == {"made.txt"}
    assert len(turn.files) == 2, "written, then edited"
    assert turn.outcome.status == "success"
    assert isinstance(turn.events[0], Started) and turn.events[0].session_id == turn.notes.session_id
    assert turn.notes.unread == []


@pytest.mark.parametrize("agent", RAN)
def test_tokens_have_one_meaning_whoever_counted_them(agent: str) -> None:
    usage = recorded(agent, "suite").notes.usage
    assert usage is not None
    counted = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
    assert counted == (3000, 2000, 0, 250)
    assert usage.total == 5250


@pytest.mark.parametrize("agent", RAN)
def test_reasoning_is_counted_and_never_kept(agent: str) -> None:
    turn = recorded(agent, "suite")
    assert "let me think" not in repr(turn.events)
    if agent != "opencode":  # which prints none unless asked to
        assert b"let me think" in b"".join(lines_of(agent, "suite")) or agent == "gemini"
        assert turn.notes.thinking >= 1


@pytest.mark.parametrize("agent", RAN)
def test_calls_and_results_are_paired_by_id_also_when_they_run_side_by_side(agent: str) -> None:
    turn = recorded(agent, "mistakes")
    assert sorted((code, output.strip()) for _, code, output in turn.commands) == [
        (0, 'it\'s "quoted"'),
        (7, ""),
    ]
    by_code = {code: command for command, code, _ in turn.commands}
    assert by_code[7] == "sleep 0.3; exit 7"
    assert turn.outcome.status == "success"


@pytest.mark.parametrize("agent", [agent for agent in RAN if agent != "codex"])
def test_calls_that_failed_say_so_and_change_no_file(agent: str) -> None:
    turn = recorded(agent, "mistakes")
    assert turn.files == []
    edit, unknown = turn.tools
    assert (edit.kind, edit.status) == ("file_edit", "error") and edit.error
    assert (unknown.name, unknown.kind, unknown.status) == ("no_such_tool", "unknown", "error")


@pytest.mark.parametrize("agent", RAN)
def test_tools_of_mcp_servers_are_known_as_such(agent: str) -> None:
    saved, broken = recorded(agent, "mcp").tools
    assert {saved.kind, broken.kind} == {"mcp"}
    assert saved.output == "saved alpha" and saved.status == "completed"
    assert json.loads(saved.input or "") == {"title": "alpha"}
    assert "it broke" in (broken.error or "") and broken.output is None
    assert "save_note" in saved.name and "notes" in saved.name


@pytest.mark.parametrize(
    ("agent", "name", "code", "words"),
    [
        ("codex", "refused-key", 1, "unexpected status 401 Unauthorized: bad key"),
        ("codex", "unknown-model", 1, "no such model"),
        ("codex", "server-error", 1, "high demand"),
        ("codex", "cut", 1, "stream disconnected before completion"),
        ("claude", "refused-key", 1, "401 bad key"),
        ("claude", "unknown-model", 1, "issue with the selected model"),
        ("claude", "server-error", 1, "500 boom"),
        ("claude", "cut", 1, "Connection dropped"),
        ("gemini", "refused-key", 145, "bad key"),
        ("gemini", "unknown-model", 1, "no such model"),
        ("gemini", "server-error", 244, "boom"),
        ("gemini", "cut", 1, "terminated"),
        ("qwen", "refused-key", 1, "401 bad key"),
        ("qwen", "unknown-model", 1, "404 no such model"),
        ("qwen", "cut", 1, "terminated"),
        ("opencode", "refused-key", 1, "bad key"),
        ("opencode", "unknown-model", 1, "no such model"),
        ("opencode", "cut", 1, "Connection reset by server"),
        ("pi", "refused-key", 0, "401 bad key"),
        ("pi", "unknown-model", 0, "404 no such model"),
        ("pi", "server-error", 0, "500 boom"),
        ("pi", "cut", 0, "terminated"),
    ],
)
def test_a_failure_of_the_model_is_told_in_its_own_words(
    agent: str, name: str, code: int, words: str
) -> None:
    outcome = recorded(agent, name, code=code).outcome
    assert (outcome.status, outcome.cause) == ("failed", "model")
    assert words in outcome.reason
    assert not outcome.reason.startswith("[API Error")


@pytest.mark.parametrize("agent", RAN)
def test_a_transcript_that_breaks_off_anywhere_is_no_success_and_loses_nothing_before(agent: str) -> None:
    lines = lines_of(agent, "suite")
    whole = read(agent, list(lines))
    for end in range(len(lines) - 2):
        turn = read(agent, list(lines[:end]), code=137)
        assert turn.outcome.status == "failed", end
        said = [message for message in turn.messages if message in whole.messages]
        assert said == turn.messages[: len(said)]


@pytest.mark.parametrize("agent", READERS)
def test_a_process_that_says_nothing_failed_with_what_it_wrote_to_stderr(agent: str) -> None:
    turn = read(agent, [], code=1, stderr="first\n\nNot signed in\n")
    assert turn.outcome.status == "failed"
    assert turn.outcome.reason == "first Not signed in"
    assert (turn.events, turn.notes.usage) == ([], None)


@pytest.mark.parametrize("agent", READERS)
def test_lines_nobody_knows_are_kept_aside_and_hurt_nothing(agent: str) -> None:
    odd = [b"", b"   ", b"plain text", b"{", b"[1]", b"null", b'{"type": "from_the_future"}', b"\xff\xfe"]
    turn = read(agent, [*odd], code=0)
    assert turn.events == []
    assert "plain text" in turn.notes.unread
    assert turn.notes.unread_count == len(turn.notes.unread) >= 3
    assert turn.outcome.status == "failed"


@pytest.mark.parametrize("agent", READERS)
def test_only_so_many_unknown_lines_are_kept_and_each_is_cut(agent: str) -> None:
    turn = read(agent, [b"x" * 9_000] * (MAX_UNREAD + 5), code=1)
    assert len(turn.notes.unread) == MAX_UNREAD
    assert turn.notes.unread_count == MAX_UNREAD + 5
    assert {len(line) for line in turn.notes.unread} == {4_000}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("agent", READERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_line_makes_a_reader_raise(agent: str, data: st.DataObject) -> None:
    """Recorded lines with any of their values replaced by anything, in any order."""
    name = "suite" if agent in RAN else "all"
    lines = [json.loads(line) for line in lines_of(agent, name)]
    reader = READERS[agent]()
    for value in data.draw(st.lists(st.sampled_from(lines), max_size=4)):
        broken = _with(value, data.draw(st.sampled_from(_paths(value))), data.draw(JSON))
        reader.read(json.dumps(broken).encode(), NOW)
        if agent == "gemini":
            reader.session(
                json.dumps(broken | {"type": "gemini"} if isinstance(broken, dict) else []).encode(), NOW
            )
    reader.end(Exit(0), NOW)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, part in inner for path in _paths(part, (*at, key)))]


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(copy[path[0]], path[1:], new)
    return copy


# -- the pieces they share --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrapped", "plain"),
    [
        ("/bin/bash -lc 'echo hi'", "echo hi"),
        ("/bin/zsh -lc ls", "ls"),
        ('bash -lc "echo \'a\' \\"b\\""', "echo 'a' \"b\""),
        ("/usr/bin/sh -lc 'it'\"'\"'s'", "it's"),
        ("/bin/bash -lc 'unfinished", "/bin/bash -lc 'unfinished"),
        ("/bin/bash -lc two words", "/bin/bash -lc two words"),
        ("python -lc 'x'", "python -lc 'x'"),
        ("ls -la", "ls -la"),
        ("", ""),
    ],
)
def test_a_command_is_taken_out_of_the_shell_around_it(wrapped: str, plain: str) -> None:
    assert plain_command(wrapped) == plain


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[API Error: {"error":{"code":401,"message":"bad key"}}]', "bad key"),
        ("[API Error: 401 no]", "401 no"),
        ("[API Error: slow down]\nPlease wait and try again later.", "slow down"),
        ('401: {"error": {"message": "bad key"}}', "401: bad key"),
        ('{"error": {"message": 5}}', '{"error": {"message": 5}}'),
        ('{"error": "x"}', '{"error": "x"}'),
        ("see {this}", "see {this}"),
        ("plain", "plain"),
    ],
)
def test_the_models_words_are_taken_out_of_what_wraps_them(text: str, words: str) -> None:
    assert api_words(text) == words


def test_the_share_of_a_turn_is_what_the_counters_grew_by() -> None:
    before = token_usage(input=100, output=10, cache_read=40, cache_write=5, cost_usd=0.5)
    total = token_usage(input=150, output=30, cache_read=40, cache_write=6, cost_usd=0.75)
    assert minus(total, before) == token_usage(input=50, output=20, cache_write=1, cost_usd=0.25)
    assert minus(before, total) == token_usage(input=0, output=0, cost_usd=0.0)
    assert minus(Usage(1, 1), before).cost_usd is None


def test_how_a_process_died_is_told_when_it_said_nothing() -> None:
    assert died(Exit(137)).reason == "the agent ended without an answer (killed by signal 9)"
    assert died(Exit(2)).reason == "the agent ended without an answer (exit code 2)"
    assert died(Exit(2, "a\nb\nc\nd\n")).reason == "b c d"


def test_values_become_text() -> None:
    assert as_text(None) is None
    assert as_text("a") == "a"
    assert as_text([{"type": "text", "text": "a"}, {"text": "b"}]) == "a\nb"
    assert as_text([{"type": "image"}]) == '[{"type":"image"}]'
    assert as_text({"ä": 1}) == '{"ä":1}'
    assert clipped([None, " ", " x " + "y" * 3000]) == "x " + "y" * 1998
    assert clipped([]) == ""


def test_every_tool_name_has_a_kind() -> None:
    names = ("Read", "write_file", "MultiEdit", "exec_command", "WebFetch", "google_web_search", "Glob")
    kinds = [kind_of(name) for name in names]
    assert kinds == ["file_read", "file_write", "file_edit", "shell", "web_fetch", "web_search", "glob"]
    assert [kind_of(name) for name in ("mcp__a__b", "mcp_a_b", "mcp")] == ["mcp"] * 3
    assert kind_of("dance") == "unknown"
    assert {kind_of(name) for name in ("LS", "grep_search", "Task")} <= set(KINDS)
