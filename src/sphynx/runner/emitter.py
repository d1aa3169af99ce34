"""Printing the event lines of the command harness."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Required, TypedDict, cast

from sphynx.errors import SphynxError

Write = Callable[[str], object]
Now = Callable[[], int]


class TokenCounts(TypedDict, total=False):
    """Tokens of one message: whole numbers, zero or more."""

    input_tokens: Required[int]
    output_tokens: Required[int]
    cache_read_tokens: int
    cache_write_tokens: int


_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadTokens",
    "cache_write_tokens": "cacheWriteTokens",
}


class Emitter:
    """Prints one line per call, flushed at once, so that whoever follows the output sees it.

    A value the reader would not accept raises ``TypeError`` or ``ValueError`` and prints nothing. As a
    context manager it prints ``finished("failed: ...")`` when the body raises, and lets the error go on.
    """

    def __init__(self, write: Write | None = None, now: Now | None = None) -> None:
        from _thread import allocate_lock

        self._write = write or _print
        self._now = now or _clock
        self._lock = allocate_lock()
        self._finished = False

    def __enter__(self) -> Emitter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # SystemExit is how a script ends on purpose; its code is recorded as it is.
        if error is not None and not isinstance(error, SystemExit):
            self.finished(f"failed: {_reason(error)}")

    def started(self, *, session_id: str, model: str) -> None:
        """``Started``: the session a later turn may continue, and the model."""
        self._emit("Started", {"sessionId": _text("session_id", session_id), "model": _text("model", model)})

    def message(self, *, text: str, role: str = "assistant", usage: TokenCounts | None = None) -> None:
        """``Message`` of the ``assistant`` or the ``user``; the last assistant message is the answer."""
        if role not in ("assistant", "user"):
            raise ValueError(f'role must be "assistant" or "user", not {role!r}')
        fields: dict[str, object] = {"role": role, "text": _text("text", text)}
        if usage is not None:
            counts = {"cacheReadTokens": 0, "cacheWriteTokens": 0, **_counts(usage)}
            fields["usage"] = {**counts, "totalTokens": counts["inputTokens"] + counts["outputTokens"]}
        self._emit("Message", fields)

    def tool_call(
        self,
        *,
        name: str,
        input: object,
        output: object = None,
        error: object = None,
        status: str | None = None,
        call_id: str | None = None,
    ) -> None:
        """``ToolCall``. Other values than text become JSON; ``None`` leaves ``output`` or ``error`` out."""
        fields: dict[str, object] = {
            "callId": None if call_id is None else _text("call_id", call_id),
            "name": _text("name", name),
            "status": None if status is None else _text("status", status),
            "input": _as_text(input),
        }
        if output is not None:
            fields["output"] = _as_text(output)
        if error is not None:
            fields["error"] = _as_text(error)
        self._emit("ToolCall", fields)

    def usage(
        self,
        *,
        input_tokens: int,
        output_tokens: int,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
    ) -> None:
        """``Usage`` of one turn or model call, added to the trial's total; cached input is counted apart."""
        given = {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cache_read_tokens": cache_read_tokens,
            "cache_write_tokens": cache_write_tokens,
        }
        counts = _counts(
            {name: count for name, count in given.items() if count is not None or name in _NEEDED}
        )
        self._print({"_tag": "Usage", **counts})

    def command(self, *, command: str, exit_code: int | None, output: str) -> None:
        """``Command``: a shell command, how it exited (``None`` when nobody saw) and what it printed."""
        if exit_code is not None:
            _whole("exit_code", exit_code)
        fields: dict[str, object] = {
            "command": _text("command", command),
            "exitCode": exit_code,
            "output": _text("output", output),
        }
        self._emit("Command", fields)

    def file_change(self, paths: Sequence[str]) -> None:
        """``FileChange``: absolute paths that were written."""
        if isinstance(paths, str):
            raise TypeError(f"paths must be a list of texts, not the text {paths!r}")
        self._emit("FileChange", {"paths": [_text("paths", path) for path in paths]})

    def finished(self, reason: str) -> None:
        """``Finished``, once: later calls print nothing. ``failed: ...`` leaves the trial unscored."""
        reason = _text("reason", reason)
        with self._lock:
            if self._finished:
                return
            self._finished = True
        self._emit("Finished", {"reason": reason})

    def _emit(self, tag: str, fields: Mapping[str, object]) -> None:
        self._print({"_tag": tag, **fields, "at": self._now()})

    def _print(self, line: Mapping[str, object]) -> None:
        # ASCII, so that no locale of the process can break a line.
        text = json.dumps(line, separators=(",", ":"))
        with self._lock:
            self._write(text)


def create_emitter(*, write: Write | None = None, now: Now | None = None) -> Emitter:
    """An emitter that prints to stdout.

    ``write`` gets each line (without its line break) instead; ``now`` gives epoch milliseconds.
    """
    return Emitter(write, now)


_NEEDED = ("input_tokens", "output_tokens")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _clock() -> int:
    return int(time.time() * 1000)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {type(value).__name__}")
    return _whole_characters(value)


def _whole_characters(text: str) -> str:
    """``text`` with lone halves of surrogate pairs replaced: no reader takes a line that holds one."""
    if any("\ud800" <= char <= "\udfff" for char in text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    return value


def _counts(given: Mapping[str, object]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, value in given.items():
        if name not in _COUNTS:
            raise ValueError(f'unknown count "{name}", there are: {", ".join(_COUNTS)}')
        if _whole(name, value) < 0:
            raise ValueError(f"{name} must be zero or more, not {value!r}")
        counts[_COUNTS[name]] = cast(int, value)
    for name in _NEEDED:
        if name not in given:
            raise ValueError(f"{name} is missing")
    return counts


def _as_text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return _whole_characters(text)


def _reason(error: BaseException) -> str:
    """One line of at most 240 characters that says what went wrong."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    kind = type(error).__name__
    if isinstance(error, SphynxError) and said:
        text = said
    else:
        text = f"{kind}: {said}" if said else kind
    return text if len(text) <= 240 else text[:240] + "…"
