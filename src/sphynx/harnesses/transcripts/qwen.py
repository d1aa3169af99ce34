"""Reads ``qwen --output-format stream-json``: Claude Code's shape with other words in it."""

from __future__ import annotations

import re
from typing import Any

from sphynx.harnesses.transcripts.claude import ClaudeLine, ClaudeReader
from sphynx.harnesses.transcripts.reading import Exit, Outcome, api_words, token_usage
from sphynx.harnesses.transcripts.tool_events import Call, ShellEnd, signalled
from sphynx.journal.events import Usage

_REPORT = re.compile(
    r"Command: .*?\nDirectory: [^\n]*\nOutput: (.*)\nError: (.*?)\nExit Code: (\S+)\nSignal: ([^\n]*)",
    re.DOTALL,
)
_TELLS_FAILURES = 24
"""The minor version from which on a command without a report is one that succeeded."""
_TIMED_OUT = "Command timed out"
_EMPTY = ("(empty)", "(none)")


class QwenReader(ClaudeReader):
    """One turn of Qwen Code. Its counters run over the session, its input counts include the cache's."""

    def __init__(self, *, before: Usage | None = None) -> None:
        super().__init__(before=before)
        self._tells_failures = True
        self._steps: Usage | None = None

    def begun(self, record: ClaudeLine) -> None:
        # Version 0.15 shows a command that failed like one that did not.
        major, _, rest = record.qwen_code_version.partition(".")
        minor = rest.partition(".")[0]
        if major == "0" and minor.isdigit():
            self._tells_failures = int(minor) >= _TELLS_FAILURES

    def shell_end(self, call: Call, text: str, failed: bool, detail: Any) -> ShellEnd | None:
        found = _REPORT.match(text)
        if found is None:
            if failed:
                return ShellEnd(None, text) if text.startswith(_TIMED_OUT) else None
            started = type(call.input) is dict and call.input.get("is_background") is True
            return ShellEnd(0 if self._tells_failures and not started else None, text)
        output = "\n".join(part for part in (found[1], found[2]) if part not in _EMPTY)
        return ShellEnd(signalled(found[4], int(found[3]) if found[3].isdigit() else None), output)

    def usage(self, record: ClaudeLine) -> tuple[Usage | None, Usage | None]:
        if record.usage is None:
            return None, None
        total = _counted(record.usage)
        return total, self.share(total)

    def said(self, message: Any) -> None:
        # The last piece of a message has its counts, the others have none.
        if message.usage is not None and message.usage.output_tokens:
            step = _counted(message.usage)
            self._steps = self._steps + step if self._steps else step

    def end(self, exit: Exit, now: int) -> tuple[list[Any], Outcome]:
        left, outcome = super().end(exit, now)
        if self.notes.usage is None:
            self.notes.usage = self._steps
        if outcome.status != "failed" or not outcome.reason.startswith("[API Error: "):
            return list(left), outcome
        return list(left), Outcome("failed", api_words(outcome.reason), "model")


def _counted(spent: Any) -> Usage:
    cached = spent.cache_read_input_tokens + spent.cache_creation_input_tokens
    return token_usage(
        input=spent.input_tokens - cached,
        output=spent.output_tokens,
        cache_read=spent.cache_read_input_tokens,
        cache_write=spent.cache_creation_input_tokens,
    )
