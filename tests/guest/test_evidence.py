"""Evidence is complete, bounded, and never the reason a verdict changes."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.guest import limits
from sphynx.guest.protocol import Outbox, encode
from sphynx.guest.record import Record
from sphynx.guest.values import Fields, NotJson, camel, readable, to_json
from sphynx.redaction import Redactor
from sphynx.results.evidence import store_validation


def values(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Every evidence value of a record."""
    found = [record["input"], record["output"], record["error"]]
    found += [call[part] for call in record["calls"] for part in ("input", "output", "error")]
    found += [log["value"] for log in record["logs"]]
    return [value for value in found if value is not None]


def captured(record: dict[str, Any]) -> int:
    return sum(limits.units(value["text"]) for value in values(record))


def a_record(capture: bool = True) -> tuple[Record, list[dict[str, Any]]]:
    sent: list[dict[str, Any]] = []
    record = Record(
        Outbox(lambda frame: sent.append(json.loads(encode(frame)))), index=0, name="n", capture=capture
    )
    return record, sent


def test_prints_are_log_entries_with_their_level_one_per_call(guest):
    source = """
    import logging
    def check(ctx):
        print("one", 2, sep="-")
        print("two\\nlines")
        print("to stderr", file=sys.stderr)
        print()
        sys.stdout.write("written\\n")
        sys.stdout.writelines(["a", "b\\n"])
        print("no ", end=""); print("line end", end="", flush=True)
        print("\\ud800 and \\0", "\\U0001f600")
        logging.getLogger("x").warning("logged")
        print("at the end", end="")
        try: print(b"bytes", file=sys.stdout) or sys.stdout.write(b"bytes")
        except TypeError: return True
    """
    answer = guest.checks(source, "check")
    assert [(log["level"], log["value"]["text"]) for log in answer.record["logs"]] == [
        ("stdout", "one-2"),
        ("stdout", "two\nlines"),
        ("stderr", "to stderr"),
        ("stdout", "written"),
        ("stdout", "ab"),
        ("stdout", "no line end\ufffd and \0 \U0001f600"),
        ("stderr", "logged"),
        ("stdout", "at the endb'bytes'"),
    ]
    assert answer.record["status"] == "passed"
    assert answer.output == ""


def test_what_is_printed_before_a_failure_is_kept(guest):
    source = """
    def check(ctx):
        print("got here")
        print("and here", end="")
        assert False
    """
    logs = guest.checks(source, "check").record["logs"]
    assert [log["value"]["text"] for log in logs] == ["got here", "and here"]


def test_the_65th_call_and_log_line_work_but_are_not_kept(guest):
    source = """
    async def check(ctx):
        for number in range(70):
            print(number)
            assert await ctx.exists(".")
        return True
    def exactly(ctx):
        for number in range(64):
            print(number)
            assert ctx.exists(".")
        return True
    """
    over, exact = guest.checks(source, "check", "exactly").records
    assert (over["status"], len(over["calls"]), len(over["logs"]), over["truncated"]) == (
        "passed",
        64,
        64,
        True,
    )
    assert (exact["status"], len(exact["calls"]), len(exact["logs"]), exact["truncated"]) == (
        "passed",
        64,
        64,
        False,
    )
    assert [call["index"] for call in over["calls"]] == list(range(64))


def test_huge_values_are_cut_and_the_check_still_reads_them_whole(guest):
    (guest.workspace / "big.txt").write_text("x" * 5_000_000)
    source = """
    def check(ctx):
        text = ctx.read_text("big.txt")
        print(text)
        print("small")
        for _ in range(3): ctx.read_text("big.txt")
        return Verdict(len(text) == 5_000_000, text)
    """
    answer = guest.checks(source, "check")
    record = answer.record
    assert record["status"] == "passed" and record["truncated"] is True
    assert len(record["calls"][0]["output"]["text"]) == 64_000
    assert record["calls"][0]["output"]["truncated"] is True
    assert captured(record) <= 192_000
    assert len(record["message"]) == len(answer.one("result")["message"]) == 16_000
    assert max(len(json.dumps(frame)) for frame in answer.frames) < 250_000


def test_with_capture_off_verdict_timing_and_message_stay_and_nothing_else(guest):
    (guest.workspace / "a.txt").write_text("the payload")
    source = """
    async def fails(ctx):
        print("the payload", await ctx.read_text("a.txt"))
        return Verdict(False, "said so", score=0.5)
    def raises(ctx):
        raise ValueError("the payload")
    """
    answer = guest.checks(source, "fails", "raises", capture=False)
    failed, broken = answer.records
    assert (failed["status"], failed["message"], failed["x-sphynx"]) == ("failed", "said so", {"score": 0.5})
    assert broken["status"] == "error" and broken["error"]["state"] == "disabled"
    for value in [*values(failed), *values(broken)]:
        assert value["text"] == "" and value["state"] in ("disabled", "unavailable")
    assert failed["input"]["state"] == "unavailable"
    assert failed["durationMs"] is not None and len(failed["calls"]) == len(failed["logs"]) == 1


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ({"passed": True, "message": "ü"}, '{"passed":true,"message":"ü"}'),
        ([1.5, float("nan"), float("inf")], "[1.5,null,null]"),
        ((1, {"a": (2,)}), '[1,{"a":[2]}]'),
        (None, "null"),
        (True, "true"),
    ],
)
def test_values_are_kept_as_json(returned, text):
    record, _ = a_record()
    assert record.value(returned) == {"text": text, "format": "json", "state": "captured", "truncated": False}


def test_values_without_a_json_form_are_unavailable():
    record, _ = a_record()
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in ({1, 2}, object(), b"bytes", circle, deep, {(1, 2): 3}):
        assert record.value(value)["state"] == "unavailable"
        with pytest.raises(NotJson):
            to_json(value)


@given(st.text(st.characters(exclude_categories=[])), st.integers(0, 40))
def test_a_cut_text_is_the_longest_beginning_that_fits_and_can_be_encoded(text, limit):
    kept = limits.cut(text, limit)
    kept.encode()
    assert limits.units(kept) <= limit
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert clean.startswith(kept)
    if len(kept) < len(clean):
        assert limits.units(clean[: len(kept) + 1]) > limit


@given(st.lists(st.tuples(st.sampled_from("xé😀"), st.integers(0, 90_000)), max_size=8), st.booleans())
def test_no_sequence_of_values_passes_the_budgets(pieces, capture):
    record, sent = a_record(capture)
    for char, count in pieces:
        record.log("stdout", char * count)
    record.end("passed", "")
    last = sent[-1]["record"]
    assert captured(last) <= 192_000
    for log, (char, count) in zip(last["logs"], pieces, strict=True):
        value = log["value"]
        assert limits.units(value["text"]) <= 64_000
        assert (char * count).startswith(value["text"])
        whole = value["text"] == char * count
        assert value["truncated"] is (capture and not whole)
        # A cut leaves nothing, or clearly more than the 16,000 that are stored: half a secret never is.
        assert whole or not value["text"] or limits.units(value["text"]) > 20_000
    assert last["truncated"] is any(log["value"]["truncated"] for log in last["logs"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_readable_values_are_equal_copies(value):
    copy = readable(value)
    assert copy == value
    assert json.loads(json.dumps(copy)) == json.loads(json.dumps(value))


def test_names_in_both_spellings():
    assert [camel(name) for name in ("user_text", "_tag", "index", "started_at_millis")] == [
        "userText", "_tag", "index", "startedAtMillis",
    ]  # fmt: skip
    fields = Fields(userText="go", snake_case=1)
    assert (fields.user_text, fields["user_text"], fields.snake_case, fields.get("user_text")) == (
        "go",
        "go",
        1,
        None,
    )
    with pytest.raises(AttributeError, match="userText"):
        _ = fields.other_text
    with pytest.raises(KeyError):
        _ = fields["other_text"]


def test_frames_are_one_line_of_utf_8_whatever_they_hold():
    line = encode({"t": "result", "message": "a\nb \ud800 ☃ \x00", "passed": False})
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    assert json.loads(line)["message"] == "a\nb \ufffd ☃ \x00"


def test_a_check_whose_reader_is_gone_ends(guest):
    read, write = os.pipe()
    os.close(read)
    source = "def check(ctx):\n    open('ran', 'w').close()\n    return True\n"
    guest.checks(source, "check")
    (guest.workspace / "ran").unlink()
    import subprocess
    import sys

    command = [sys.executable, "-P", "-m", "sphynx.guest", "--bundle", str(guest.folder)]
    command += ["--request", str(guest.root / "request.json"), "--result-fd", str(write)]
    done = subprocess.run(command, pass_fds=[write], capture_output=True, timeout=20, check=False)
    os.close(write)
    assert done.returncode == 1
    assert not (guest.workspace / "ran").exists()


SECRET = "sk-" + "abcdefghij0123456789" * 3


@pytest.mark.parametrize("before", [10, 60, 1_990, 15_980, 63_980, 64_020, 127_990])
def test_a_secret_at_any_cut_of_the_guest_is_gone_when_the_host_stores_it(guest, before):
    source = f"""
    TEXT = "x" * {before} + "{SECRET}" + "y" * 70_000
    def prints(ctx):
        for place in range(0, len(TEXT), 1000): print(TEXT[place:place + 1000], end="")
        return True
    def returns(ctx):
        return TEXT[:{before} + 63]
    def says(ctx):
        return Verdict(False, TEXT)
    def spends(ctx):
        for _ in range(5): print(TEXT)
        return True
    def repeats(ctx):
        print("-" * {before % 64} + "{SECRET} " * 3000)
        return True
    """
    redactor = Redactor([SECRET])
    for record in guest.checks(source, "prints", "returns", "says", "spends", "repeats").records:
        stored = store_validation(record, redactor)
        for text in [stored["message"], *(value["text"] for value in values(stored))]:
            assert "sk-" not in text and "abcdefghij" not in text
            assert not any(part in text for part in ("0123456789a", "jklm", "[redacted]bc"))
