"""How every agent fails: runs the real programs against the scripted model and writes the table of it.

    python scripts/harness_table.py [--agent codex ...] [--row 401 ...] [--print]

Needs node and npm. Installs the agents below ``SPHYNX_LOCAL_ROOT``, takes about ten minutes. The table goes
between two marks in docs/design/harnesses.md; with ``--agent`` and ``--row`` only those lines are replaced.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphynx.engine import LocalOptions, Stop, plan_local, run_plan
from sphynx.errors import SphynxError
from sphynx.journal.events import Event, Message
from sphynx.testing.scripted_model import ScriptedModel, Step, cut, fail, say, shell, silent, use

DOCUMENT = Path(__file__).parent.parent / "docs" / "design" / "harnesses.md"
BEGIN, END = "<!-- failures: made by scripts/harness_table.py -->", "<!-- end of failures -->"
KEY = "sk-table-0123456789abcdef"
MODELS = {
    "codex": "gpt-5.5",
    "claude": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "qwen": "qwen3-coder-plus",
    "opencode": "anthropic/claude-sonnet-4-5",
    "pi": "anthropic/claude-sonnet-4-5",
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY")
PATHS = {"codex": "/v1", "claude": "", "gemini": "", "qwen": "/v1", "opencode": "/v1", "pi": ""}
SUITE = """
from sphynx import case, command, suite, variant
table = suite(id="table", prompt="Do the work", variants=[variant(harness="{agent}", model="{model}")],
              cases=[case(id="one", timeout_ms={limit_ms}, validate=command("true"))])
"""


@dataclass(frozen=True)
class Failure:
    """One row: what the model does, how long the agent may take, and what else is special."""

    name: str
    steps: Sequence[Step]
    limit_s: int = 150
    key: str = KEY
    refused: bool = False
    interrupted: bool = False


LONG = say("a text that is long enough to be cut in the middle of it")
WORKING = [use(shell("echo started; sleep 300"), text="I begin."), say("never")]
FAILURES = (
    Failure("401 refused key", [fail(401, "bad key")]),
    Failure("404 unknown model", [fail(404, "no such model", code="model_not_found")]),
    Failure("429 too many requests", [fail(429, "slow down")]),
    Failure("500 server error", [fail(500, "boom")]),
    Failure("stream cut", [cut(LONG)]),
    Failure("silent server, limit 30 s", [silent()], limit_s=30),
    Failure("no key", [LONG], key=""),
    Failure("connection refused", [LONG], refused=True),
    Failure("time limit in a command", WORKING, limit_s=9),
    Failure("Ctrl-C in a command", WORKING, interrupted=True),
)


class Watcher:
    """Stops the run once the agent has begun, where that is what the row is about."""

    def __init__(self, stop: Stop | None) -> None:
        self._stop = stop
        self.stopped_at = 0.0

    def event(self, key: Any, event: Event) -> None:
        if self._stop is not None and isinstance(event, Message) and event.role == "assistant":
            asyncio.get_running_loop().call_later(1.0, self._interrupt, self._stop)

    def _interrupt(self, stop: Stop) -> None:
        self.stopped_at = time.monotonic()
        stop.stop("interrupted")

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *told: None


async def outcome(agent: str, failure: Failure, model: ScriptedModel) -> str:
    """One cell: status, cause, reason and duration of the agent's part."""
    model.script(KEY, failure.steps)
    url = f"http://127.0.0.1:{closed_port()}" if failure.refused else model.url
    env = {**environment(failure.key), f"SPHYNX_{agent.upper()}_BASE_URL": url + PATHS[agent]}
    stop = Stop()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        limit_ms = failure.limit_s * 1000
        (root / "table_eval.py").write_text(SUITE.format(agent=agent, model=MODELS[agent], limit_ms=limit_ms))
        begun = time.monotonic()
        try:
            plan = plan_local([], LocalOptions(cwd=root, env=env, jobs=1))
            watcher = Watcher(stop if failure.interrupted else None)
            (result,) = await run_plan(plan, [watcher], stop)
        except SphynxError as error:
            return f"refused: {error.message} ({time.monotonic() - begun:.1f} s)"
    (trial,) = result.trials
    reason = cleaned(trial.reason or "")
    asked = len(model.requests(KEY))
    # After Ctrl-C it counts how long everything took to end.
    interrupted = time.monotonic() - watcher.stopped_at
    seconds = interrupted if failure.interrupted else trial.model_ms / 1000
    return f"{trial.status}, {trial.cause}: {reason} ({seconds:.1f} s, {asked} requests)"


def environment(key: str) -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "SPHYNX_LOCAL_ROOT")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return {**found, **(dict.fromkeys(KEYS, key) if key else {})}


def closed_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def cleaned(text: str) -> str:
    """A reason fit for a table: no ports, no bars, no folders of this machine."""
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text).replace("|", "/")
    return re.sub(r"(/[\w.@-]+){4,}", "/...", text)


async def measure(agents: Sequence[str], rows: Sequence[str]) -> dict[str, dict[str, str]]:
    """The rows whose names begin so, of these agents, one agent after the other."""
    found: dict[str, dict[str, str]] = {}
    for agent in agents:
        found[agent] = {}
        for failure in FAILURES:
            if not failure.name.startswith(tuple(rows)):
                continue
            with ScriptedModel() as model:
                found[agent][failure.name] = await outcome(agent, failure, model)
            print(f"{agent:9} {failure.name:26} {found[agent][failure.name]}", flush=True)
    return found


def table(agent: str, rows: Mapping[str, str]) -> str:
    """One agent's table."""
    lines = [f"| {name} | {cell} |" for name, cell in rows.items()]
    return "\n".join([f"### {agent}", "", "| what goes wrong | how the trial ends |", "|-|-|", *lines])


def rows_of(text: str) -> dict[str, str]:
    """The lines of a table that was written before."""
    cells = re.findall(r"(?m)^\| (.+?) \| (.+) \|$", text)
    return {name: cell for name, cell in cells if name != "what goes wrong"}


def write(found: Mapping[str, Mapping[str, str]]) -> None:
    """Replace these lines in the document, keeping the others."""
    text = DOCUMENT.read_text()
    head, _, rest = text.partition(BEGIN)
    inner, _, tail = rest.partition(END)
    parts = re.split(r"(?m)^### (\w+)$", inner)
    kept = {name: rows_of(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    for agent, rows in found.items():
        kept[agent] = {**kept.get(agent, {}), **rows}
    names = [failure.name for failure in FAILURES]
    ordered = [
        table(agent, {name: kept[agent][name] for name in names if name in kept[agent]})
        for agent in MODELS
        if agent in kept
    ]
    DOCUMENT.write_text(f"{head}{BEGIN}\n\n" + "\n\n".join(ordered) + f"\n\n{END}{tail}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", choices=list(MODELS), action="append")
    parser.add_argument("--row", action="append", help="only rows whose names begin so")
    parser.add_argument("--print", action="store_true", help="print the table instead of writing it")
    given = parser.parse_args()
    found = asyncio.run(measure(given.agent or list(MODELS), given.row or [""]))
    if given.print:
        print("\n\n".join(table(agent, rows) for agent, rows in found.items()))
    else:
        write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
