"""What the guest is asked and what it answers.

**The bundle**: a folder with ``bundle.json`` and ``tree/``::

    {"format": 1, "entry": "evals/smoke_eval.py", "module": "smoke_eval",
     "roots": ["evals", "src", "."], "requirements": [], "python": "3.11"}

``entry`` and ``roots`` are relative to ``tree/``; the roots go to the front of ``sys.path`` in that order.

**The request**: one JSON object, never on the command line (it may hold what ``prepare`` returned)::

    {"op": "prepare" | "checks" | "solution" | "turn" | "mocks", "suite": 0, "case": "one",
     "workspace": "/abs/path", "home": "/abs/path", "payload": {...}}

``suite`` counts the suites of the bundle's module in source order. Payloads:

========== =====================================================================================
prepare    ``{"cached": bool, "api": {name: url}}``
solution   ``{}`` (``api`` and ``cached`` are read when there)
turn       ``{"variant": int, "prompt": str, "model": str, "index": int, "session_id": str | null,``
           ``"system_prompt": str | null, "history": [...], "state": {...}}``: the variant's own function
checks     ``{"answer": str, "transcript": str, "turns": [...], "summary": {...},``
           ``"prepared": {...}, "api": {name: url}, "login": str`` (``~/.profile`` before the agent),
           ``"calls": {"cli": [...], "mcp": [...], "api": [...]}, "capture": bool,``
           ``"checks": [{"index": 0, "name": "writes_hello", "timeout_ms": 300000}]}``
           Missing keys count as empty, a missing ``capture`` as true, a missing ``checks`` as all of them.
mocks      ``{}``; it runs until it is killed
========== =====================================================================================

**The frames**: JSON objects, one a line, UTF-8, in this order:

============= ================================================================================
validation    ``{"t": "validation", "record": {...}}``: an ``EvalValidation``, sent again whenever it
              grew; the last one per ``id`` counts. ``"x-sphynx": {"score", "metrics"}`` when the check
              gave them. Its texts hold at most the guest's own limits (:mod:`sphynx.guest.limits`),
              not the stored ones, because secrets are taken out before the final cut.
result        ``{"t": "result", "passed": bool, "message": str | null}``: after the last check
prepared      ``{"t": "prepared", "value": {...}}``: what ``prepare`` returned
event         ``{"t": "event", "line": str}``: an event line, as the agent of a ``turn`` emits it
turn          ``{"t": "turn", "state": {...}}``: the agent's turn is over
failed        ``{"t": "failed", "message": str, "status": int | null}``: nothing was scored or prepared;
              ``status`` is the exit status of the command or program that ended it
ready         ``{"t": "ready", "api": [{"name", "url", "endpoints": [{"method", "path", "description"}]}]}``:
              the mocks answer
call          ``{"t": "call", "kind": "mcp" | "cli" | "api", "record": {...}, "broken": str | null}``: a mock
              was called; sent before the answer leaves. ``broken`` says why the trial cannot be trusted
mark          ``{"t": "mark", "mark": str}``: every call before this one has been reported
done          ``{"t": "done"}``: always the last line. A guest that ends without it was killed, crashed
              or left by ``os._exit``: what it answered before must not be trusted to be complete
============= ================================================================================

A line is at most about 1.5 MB (a record of 192,000 characters, escaped).

**The channel**: a descriptor of its own that no child process inherits. ``--nonce HEX`` (no spare descriptor,
for remote sandboxes) puts ``HEX {json}`` lines on stdout; the guest first moves the real stdout to a private
descriptor, so nothing a check prints, writes to descriptor 1 or starts can reach it. In a checks request
descriptors 1 and 2 then are a capture file; in the others they are the real stderr, live.

**Exit codes**: 0; 1 when a check raised, returned nonsense or ran past its time, or ``prepare`` or the
solution failed; 2 when the bundle cannot be imported (``failed`` says why).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

Frame: TypeAlias = dict[str, Any]
Emit: TypeAlias = Callable[[Frame], None]

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_IMPORT = 2


def encode(frame: Frame) -> bytes:
    """One frame as a JSON line. Halves of surrogate pairs, which are not UTF-8, become replacement marks."""
    return whole(json.dumps(frame, ensure_ascii=False, separators=(",", ":"))).encode() + b"\n"


def whole(text: str) -> str:
    """``text`` with every lone surrogate replaced, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def sender(descriptor: int, nonce: str = "") -> Emit:
    """Frames as lines on ``descriptor``, each behind ``nonce`` and a blank when there is one."""
    lead = f"{nonce} ".encode() if nonce else b""

    def send(frame: Frame) -> None:
        data = memoryview(lead + encode(frame))
        while data:
            data = data[os.write(descriptor, data) :]

    return send


class Outbox:
    """Sends frames for one op: whole lines from any thread, and only from the process the op runs in.

    A check may fork. A child that prints must not send half a record between two of ours, and one that
    returns from the check by mistake must not send a second verdict: it ends there.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._sender = 0

    def send(self, frame: Frame) -> None:
        if os.getpid() != self._owner:
            if frame["t"] not in ("validation", "event"):
                os._exit(EXIT_FAILED)
            return
        with self._lock:
            self._sender = threading.get_ident()
            try:
                self._emit(frame)
            except OSError:
                # Whoever asked is gone, or the check closed our descriptor: there is no verdict to give.
                os._exit(EXIT_FAILED)
            finally:
                self._sender = 0

    def is_sending(self) -> bool:
        """Whether the calling thread was interrupted in the middle of a frame."""
        return self._sender == threading.get_ident()
