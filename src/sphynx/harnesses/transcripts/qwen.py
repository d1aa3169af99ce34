"""Reads ``qwen --output-format stream-json``: Claude Code's shape with other words in it."""

from __future__ import annotations

import re
from typing import Any

from sphynx.harnesses.transcripts.claude import ClaudeLine, ClaudeReader
from sphynx.harnesses.transcripts.reading import Exit, Outcome, api_words, token_usage
from sphynx.harnesses.transcripts.tool_events import ShellEnd
from sphynx.journal.events import Usage

_REPORT = re.compile(
    r"Command: .*?\nDirectory: [^\n]*\nOutput: (.*)\nError: (.*?)\nExit Code: (\S+)\nSignal: ",
    re.DOTALL,
)
_EMPTY = ("(empty)", "(none)")


class QwenReader(ClaudeReader):
    """One turn of Qwen Code. Its counters run over the session, its input counts include the cache's."""

    def shell_end(self, text: str, failed: bool, detail: Any) -> ShellEnd | None:
        found = _REPORT.match(text)
        if found is None:
            # Without a report the command was refused, or an old version ran it and kept its exit code.
            return None if failed else ShellEnd(None, text)
        output = "\n".join(part for part in (found[1], found[2]) if part not in _EMPTY)
        return ShellEnd(int(found[3]) if found[3].isdigit() else None, output)

    def usage(self, record: ClaudeLine) -> tuple[Usage | None, Usage | None]:
        spent = record.usage
        if spent is None:
            return None, None
        cached = spent.cache_read_input_tokens + spent.cache_creation_input_tokens
        total = token_usage(
            input=spent.input_tokens - cached,
            output=spent.output_tokens,
            cache_read=spent.cache_read_input_tokens,
            cache_write=spent.cache_creation_input_tokens,
        )
        return total, self.share(total)

    def end(self, exit: Exit, now: int) -> tuple[list[Any], Outcome]:
        left, outcome = super().end(exit, now)
        if outcome.status != "failed" or not outcome.reason.startswith("[API Error: "):
            return list(left), outcome
        return list(left), Outcome("failed", api_words(outcome.reason), "model")
