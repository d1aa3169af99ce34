"""How fast transcripts are read, against a bare decode of the same lines.

    python benchmarks/transcripts.py [--events 1000000] [--agent codex]
    python benchmarks/transcripts.py --check      fail also when one is half as slow again as in the baseline
    python benchmarks/transcripts.py --save       write transcripts-baseline.json

Makes a transcript of about 300 bytes a line, reads it with the agent's reader, and decodes the same lines
with msgspec and nothing else. Exits 1 when a reader takes more than 3 times as long.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from sphynx.harnesses.transcripts.claude import ClaudeReader
from sphynx.harnesses.transcripts.codex import CodexReader
from sphynx.harnesses.transcripts.gemini import GeminiReader
from sphynx.harnesses.transcripts.opencode import OpenCodeReader
from sphynx.harnesses.transcripts.pi import PiReader
from sphynx.harnesses.transcripts.qwen import QwenReader

LIMIT = 3.0
CHUNK = 10_000
BASELINE = Path(__file__).parent / "transcripts-baseline.json"
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
    """Read ``events`` lines; prints both times (of the processor) and gives their ratio.

    Both sides take turns on the same lines, so that a busy machine slows both alike.
    """
    make, reader_class = AGENTS[agent]
    read = reader_class().read
    decode = msgspec.json.decode
    bare = took = 0.0
    count = made = size = 0
    for first in range(0, events // 2, CHUNK):
        numbers = range(first, min(first + CHUNK, events // 2))
        lines = [json.dumps(line).encode() for number in numbers for line in make(number)]
        count += len(lines)
        size += sum(map(len, lines))
        begun = time.process_time()
        for line in lines:
            decode(line)
        between = time.process_time()
        for line in lines:
            made += len(read(line, 1))
        took += time.process_time() - between
        bare += between - begun
    print(
        f"{agent:9} {count:,} lines of {size / count:.0f} bytes, {made:,} events: {took:.2f} s,"
        f" bare decode {bare:.2f} s, ratio {took / bare:.2f}"
    )
    return took / bare


def report(found: dict[str, float], check: bool) -> int:
    """1 when a reader is beyond the limit or, with ``check``, half as slow again as when it was saved."""
    saved = json.loads(BASELINE.read_text()) if check and BASELINE.exists() else {}
    code = 0
    for agent, ratio in found.items():
        before = saved.get(agent)
        if ratio > LIMIT:
            print(f"error: {agent} takes {ratio:.2f} x a bare decode, at most {LIMIT:g}", file=sys.stderr)
            code = 1
        elif before is not None and ratio > 1.5 * before:
            print(f"error: {agent} takes {ratio:.2f} x a bare decode, it was {before:.2f}", file=sys.stderr)
            code = 1
    return code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--agent", choices=sorted(AGENTS), action="append")
    parser.add_argument("--check", action="store_true", help="compare with transcripts-baseline.json")
    parser.add_argument("--save", action="store_true", help="write transcripts-baseline.json")
    given = parser.parse_args()
    found = {agent: measure(agent, given.events) for agent in given.agent or AGENTS}
    if given.save:
        rounded = {agent: round(ratio, 2) for agent, ratio in found.items()}
        BASELINE.write_text(json.dumps(rounded, indent=2) + "\n")
    return report(found, given.check)


if __name__ == "__main__":
    sys.exit(main())
