"""The emitter prints exactly the lines of the protocol, or raises and prints nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_data import case_id, load
from sphynx.errors import SphynxError
from sphynx.journal import command_lines
from sphynx.runner import create_emitter

NAMES = {"toolCall": "tool_call", "fileChange": "file_change"}
FIELDS = {"inputTokens": "input_tokens", "outputTokens": "output_tokens", "exitCode": "exit_code"}


class Lines(list[dict[str, Any]]):
    def write(self, line: str) -> None:
        assert "\n" not in line
        self.append(json.loads(line))


def call(emit: Any, name: str, value: Any) -> None:
    method = getattr(emit, NAMES.get(name, name))
    if isinstance(value, dict):
        method(**{FIELDS.get(key, key): item for key, item in value.items()})
    else:
        method(value)


@pytest.mark.parametrize("worked", load("emitter"), ids=case_id)
def test_worked_cases(worked) -> None:
    """Lines and refusals follow the worked cases of the contract."""
    lines = Lines()
    emit = create_emitter(write=lines.write, now=lambda: worked["input"].get("now", 1))
    raised = []
    for name, value in worked["input"]["calls"]:
        try:
            call(emit, name, value)
            raised.append(False)
        except (TypeError, ValueError):
            raised.append(True)
    assert lines == worked["expected"]["lines"]
    assert raised == worked["expected"].get("raises", [False] * len(raised))


def test_every_line() -> None:
    """Each method prints its documented line."""
    lines = Lines()
    emit = create_emitter(write=lines.write, now=lambda: 9)
    emit.started(session_id="run-1", model="m")
    emit.message(text="hi", role="user", usage={"input_tokens": 3, "output_tokens": 4})
    emit.command(command="ls", exit_code=None, output="a\n")
    emit.file_change(["/w/a"])
    emit.tool_call(name="t", input=None, error={"e": 1}, status="failed", call_id="c")
    emit.usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=0)
    emit.finished("done")
    assert lines == [
        {"_tag": "Started", "sessionId": "run-1", "model": "m", "at": 9},
        {"_tag": "Message", "role": "user", "text": "hi", "at": 9,
         "usage": {"inputTokens": 3, "outputTokens": 4, "cacheReadTokens": 0, "cacheWriteTokens": 0,
                   "totalTokens": 7}},
        {"_tag": "Command", "command": "ls", "exitCode": None, "output": "a\n", "at": 9},
        {"_tag": "FileChange", "paths": ["/w/a"], "at": 9},
        {"_tag": "ToolCall", "callId": "c", "name": "t", "status": "failed", "at": 9,
         "input": "null", "error": '{"e":1}'},
        {"_tag": "Usage", "inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 0},
        {"_tag": "Finished", "reason": "done", "at": 9},
    ]  # fmt: skip


BAD: list[Callable[[Any], None]] = [
    lambda emit: emit.started(session_id=1, model="m"),
    lambda emit: emit.message(text="x", role="system"),
    lambda emit: emit.message(text=None),
    lambda emit: emit.message(text="x", usage={"input_tokens": 1}),
    lambda emit: emit.message(text="x", usage={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
    lambda emit: emit.usage(input_tokens=None, output_tokens=1),
    lambda emit: emit.usage(input_tokens=True, output_tokens=1),
    lambda emit: emit.usage(input_tokens=1, output_tokens=1, cache_read_tokens=-1),
    lambda emit: emit.command(command="x", exit_code="0", output=""),
    lambda emit: emit.command(command="x", exit_code=0, output=b""),
    lambda emit: emit.file_change("/w/a"),
    lambda emit: emit.file_change([3]),
    lambda emit: emit.tool_call(name="t"),
    lambda emit: emit.tool_call(name="t", input=object()),
    lambda emit: emit.tool_call(name="t", input="", status=3),
    lambda emit: emit.finished(None),
]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_raises_and_prints_nothing(bad: Callable[[Any], None]) -> None:
    """What a reader would refuse is refused where it is made."""
    lines = Lines()
    emit = create_emitter(write=lines.write)
    with pytest.raises((TypeError, ValueError)):
        bad(emit)
    emit.finished("done")
    assert [line["_tag"] for line in lines] == ["Finished"]


def test_a_body_that_raises_is_a_failed_finish() -> None:
    """As a context manager the emitter tells why the process ended, and the error goes on."""
    lines = Lines()
    with pytest.raises(RuntimeError), create_emitter(write=lines.write, now=lambda: 1):
        raise RuntimeError("\n model refused\nmore")
    with pytest.raises(SphynxError), create_emitter(write=lines.write, now=lambda: 1):
        raise SphynxError("SPHYNX_PROMPT is not set")
    with pytest.raises(ValueError), create_emitter(write=lines.write, now=lambda: 1):
        raise ValueError
    assert [line["reason"] for line in lines] == [
        "failed: RuntimeError: model refused",
        "failed: SPHYNX_PROMPT is not set",
        "failed: ValueError",
    ]


def test_a_body_that_ends_well_prints_nothing() -> None:
    """Leaving the body, or exiting on purpose, leaves the reason to the exit code."""
    lines = Lines()
    with create_emitter(write=lines.write):
        pass
    with pytest.raises(SystemExit), create_emitter(write=lines.write):
        raise SystemExit(3)
    assert lines == []


def test_a_failure_after_the_finish_prints_no_second_one() -> None:
    """The first reason stands."""
    lines = Lines()
    with pytest.raises(RuntimeError), create_emitter(write=lines.write) as emit:
        emit.finished("done")
        raise RuntimeError
    assert [line["reason"] for line in lines] == ["done"]


def test_lines_arrive_at_once() -> None:
    """A reader of the pipe sees a line before the process does anything else, in any locale."""
    code = "from sphynx.runner import *\ncreate_emitter().message(text='h\\u00e9 \\U0001f600')\ninput()"
    env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert process.stdin and process.stdout
    line = json.loads(process.stdout.readline())
    assert line["text"] == "hé 😀"
    assert line["at"] > 1_700_000_000_000
    process.communicate(b"\n", timeout=10)


def test_threads_do_not_mix_lines() -> None:
    """Many threads print whole lines, and only one finish."""
    lines = Lines()
    emit = create_emitter(write=lines.write)

    def work() -> None:
        for _ in range(50):
            emit.message(text="x" * 100)
        emit.finished("done")

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert [line["_tag"] for line in lines].count("Finished") == 1
    assert len(lines) == 401


ANY_TEXT = st.text(st.characters())
ANY_JSON = st.recursive(st.none() | st.booleans() | st.integers() | ANY_TEXT, st.lists)


@given(ANY_TEXT, ANY_TEXT, ANY_JSON)
def test_what_is_printed_is_what_the_journal_reads(text: str, name: str, value: Any) -> None:
    """Every printed line is recorded with the same values; lone halves of characters are replaced."""
    raw: list[str] = []
    emit = create_emitter(write=raw.append, now=lambda: 7)
    emit.message(text=text)
    emit.tool_call(name=name, input=value, output=value)
    message, tool = (command_lines.parse(line.encode(), 0) for line in raw)
    assert (message.text, message.at, message.role) == (whole(text), 7, "assistant")
    assert tool.name == whole(name)
    given = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert tool.input == whole(given)


def whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_whoever_follows_the_output_sees_each_line_at_once() -> None:
    """Lines reach a pipe that is followed while the process goes on; killing it then loses none."""
    program = (
        "import time\nfrom sphynx.runner import create_emitter\nemit = create_emitter()\n"
        "emit.message(text='first')\nemit.message(text='second')\ntime.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = [json.loads(process.stdout.readline())["text"] for _ in range(2)]
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    assert said == ["first", "second"]
