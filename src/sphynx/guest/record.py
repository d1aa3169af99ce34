"""The evidence of one check, as it grows: an ``EvalValidation`` of the wire, sent again at every step."""

from __future__ import annotations

import threading
import time
from typing import Any

from sphynx.guest import limits
from sphynx.guest.protocol import Frame, Outbox
from sphynx.guest.values import NotJson, to_json

Value = dict[str, Any]


def nothing(state: str = "unavailable") -> Value:
    """A value that was not captured."""
    return {"text": "", "format": "text", "state": state, "truncated": False}


class Record:
    """What one check did. Safe to add to from any thread; every change is sent."""

    def __init__(self, outbox: Outbox, *, index: int, name: str, capture: bool) -> None:
        self._outbox = outbox
        self._capture = capture
        self._lock = threading.RLock()
        self._rest = limits.CHECK
        self._began = time.perf_counter()
        self._truncated = False
        self._over = False
        self.data: dict[str, Any] = {
            "id": f"code:{index}",
            "index": index,
            "name": limits.cut(name, 200),
            "kind": "code",
            "status": "running",
            "startedAt": time.time() * 1000,
            "durationMs": None,
            "message": "",
            "exitCode": None,
            "truncated": False,
            "input": nothing(),
            "output": nothing(),
            "error": None,
            "calls": [],
            "logs": [],
        }

    def send(self) -> None:
        """Send the record as it is now."""
        with self._lock:
            self._outbox.send(self._frame())

    def call(self, method: str, arguments: list[Any]) -> Value | None:
        """Note that a context call began; ``None`` when no more are kept. End it with :meth:`called`."""
        with self._lock:
            calls = self.data["calls"]
            if len(calls) >= limits.CALLS or self._over:
                self._truncated = self._truncated or not self._over
                return None
            entry: Value = {
                "index": len(calls),
                "method": method,
                "startedAt": time.time() * 1000,
                "durationMs": None,
                "input": self._json(arguments),
                "output": nothing("captured" if self._capture else "disabled"),
                "error": None,
            }
            calls.append(entry)
            self.send()
            return entry

    def called(
        self, entry: Value | None, began: float, *, output: Any = None, error: str | None = None
    ) -> None:
        """Note how a context call ended: with ``output``, or with the stack text ``error``."""
        if entry is None:
            return
        with self._lock:
            entry["durationMs"] = _since(began)
            if error is None:
                entry["output"] = self.value(output)
            else:
                entry["error"] = self._text(error)
            self.send()

    def log(self, level: str, text: str) -> None:
        """Keep one printed piece of text; ``level`` is ``stdout`` or ``stderr``."""
        with self._lock:
            logs = self.data["logs"]
            if len(logs) >= limits.LOGS or self._over:
                self._truncated = self._truncated or not self._over
                return
            logs.append(
                {"index": len(logs), "at": time.time() * 1000, "level": level, "value": self._text(text)}
            )
            self.send()

    def returned(self, value: Any) -> None:
        """Keep what the check returned, before anybody judges it."""
        with self._lock:
            self.data["output"] = self.value(value)

    def measured(self, score: float | None, metrics: dict[str, float] | None) -> None:
        """Keep what a ``Verdict`` measured beside pass or fail."""
        found = {"score": score, "metrics": metrics}
        kept = {key: value for key, value in found.items() if value is not None}
        if kept:
            self.data["x-sphynx"] = kept

    def end(self, status: str, message: str, *, error: str | None = None) -> None:
        """Close the record: nothing is added after it."""
        with self._lock:
            self._over = True
            self.data["status"] = status
            self.data["durationMs"] = _since(self._began)
            self.data["message"] = limits.cut(message, limits.MESSAGE)
            self.data["exitCode"] = 1 if status == "error" else 0
            if error is not None:
                self.data["error"] = self._text(error)
            self.send()

    def value(self, value: Any) -> Value:
        """Evidence of any value: text as it is, the rest as JSON; ``unavailable`` without a JSON form."""
        return self._text(value) if isinstance(value, str) else self._json(value)

    def _json(self, value: Any) -> Value:
        try:
            return self._text(to_json(value), "json")
        except NotJson:
            return nothing("unavailable" if self._capture else "disabled")

    def _text(self, text: str, form: str = "text") -> Value:
        if not self._capture:
            return nothing("disabled")
        kept = limits.cut_within(text, self._rest)
        self._rest -= limits.units(kept)
        return {"text": kept, "format": form, "state": "captured", "truncated": len(kept) < len(text)}

    def _frame(self) -> Frame:
        data = self.data
        values = [data["input"], data["output"], data["error"]]
        values += [call[part] for call in data["calls"] for part in ("input", "output", "error")]
        values += [entry["value"] for entry in data["logs"]]
        data["truncated"] = self._truncated or any(value and value["truncated"] for value in values)
        return {"t": "validation", "record": data}


def _since(began: float) -> float:
    return max(0.0, round((time.perf_counter() - began) * 1000, 3))
