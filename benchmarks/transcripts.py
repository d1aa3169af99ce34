"""How fast transcripts are read, against a bare decode of the same lines.

    python benchmarks/transcripts.py [--events 1000000] [--agent codex]

Makes a transcript of about 300 bytes a line, reads it with the agent's reader, and decodes the same lines
with msgspec and nothing else. Exits 1 when a reader takes more than 3 times as long.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from sphynx.harnesses.transcripts.claude import ClaudeReader
from sphynx.harnesses.transcripts.codex import CodexReader
from sphynx.harnesses.transcripts.gemini import GeminiReader
from sphynx.harnesses.transcripts.opencode import OpenCodeReader
from sphynx.harnesses.transcripts.pi import PiReader
from sphynx.harnesses.transcripts.qwen import QwenReader

LIMIT = 3.0
TEXT = "a line of what the agent saw " * 4
RUN = "/bin/bash -lc 'pytest -q tests/unit'"


def codex(number: int) -> Iterator[Any]:
    item = {"id": f"item_{number}", "type": "command_execution", "command": RUN, "status": "in_progress"}
    yield {"type": "item.started", "item": {**item, "aggregated_output": "", "exit_code": None, "pad": TEXT}}
    ended = {**item, "aggregated_output": TEXT, "exit_code": 0, "status": "completed"}
    yield {"type": "item.completed", "item": ended}


def claude(number: int) -> Iterator[Any]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "pytest -q"}}
    message = {
        "id": f"msg_{number}",
        "role": "assistant",
        "model": "m",
        "content": [call],
        "stop_reason": None,
    }
    yield {"type": "assistant", "message": message, "session_id": "5f5491c0", "parent_tool_use_id": None}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": TEXT, "is_error": False}
    yield {"type": "user", "message": {"role": "user", "content": [result]}, "session_id": "5f5491c0"}


def gemini(number: int) -> Iterator[Any]:
    call = {"tool_name": "read_file", "tool_id": f"read_{number}", "parameters": {"file_path": TEXT}}
    yield {"type": "tool_use", "timestamp": "2026-11-30T22:47:44.951Z", **call}
    result = {"tool_id": f"read_{number}", "status": "success", "output": TEXT + TEXT}
    yield {"type": "tool_result", "timestamp": "2026-11-30T22:47:45.022Z", **result}


def opencode(number: int) -> Iterator[Any]:
    state = {
        "status": "completed",
        "input": {"command": "pytest -q"},
        "output": TEXT,
        "metadata": {"exit": 0},
    }
    part = {
        "type": "tool",
        "tool": "bash",
        "callID": f"call_{number}",
        "state": {**state, "time": {"end": 5}},
    }
    yield {"type": "tool_use", "timestamp": 1796078880697, "sessionID": "ses_dd15b413bffe", "part": part}
    yield {"type": "text", "sessionID": "ses_dd15b413bffe", "part": {"text": TEXT + TEXT, "time": {"end": 5}}}


def pi(number: int) -> Iterator[Any]:
    call = {"toolCallId": f"call_{number}", "toolName": "bash"}
    yield {"type": "tool_execution_start", **call, "args": {"command": "pytest -q", "pad": TEXT}}
    ended = {
        "content": [{"type": "text", "text": TEXT}],
        "structuredContent": {"output": TEXT, "exit_code": 0},
    }
    yield {"type": "tool_execution_end", **call, "result": ended, "isError": False, "durationMs": 14}


AGENTS: dict[str, tuple[Callable[[int], Iterator[Any]], Callable[[], Any]]] = {
    "codex": (codex, CodexReader),
    "claude": (claude, ClaudeReader),
    "qwen": (claude, QwenReader),
    "gemini": (gemini, GeminiReader),
    "opencode": (opencode, OpenCodeReader),
    "pi": (pi, PiReader),
}


def measure(agent: str, events: int) -> float:
    """Read ``events`` lines; prints both times and gives their ratio."""
    make, reader_class = AGENTS[agent]
    lines = [json.dumps(line).encode() for number in range(events // 2) for line in make(number)]
    size = sum(map(len, lines)) / len(lines)
    begun = time.perf_counter()
    for line in lines:
        msgspec.json.decode(line)
    bare = time.perf_counter() - begun
    reader = reader_class()
    read = reader.read
    made = 0
    begun = time.perf_counter()
    for line in lines:
        made += len(read(line, 1))
    took = time.perf_counter() - begun
    print(
        f"{agent:9} {len(lines):,} lines of {size:.0f} bytes, {made:,} events: {took:.2f} s,"
        f" bare decode {bare:.2f} s, ratio {took / bare:.2f}"
    )
    return took / bare


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--agent", choices=sorted(AGENTS), action="append")
    given = parser.parse_args()
    ratios = [measure(agent, given.events) for agent in given.agent or AGENTS]
    return 1 if max(ratios) > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
