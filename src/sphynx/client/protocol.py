"""How a client and a server talk, without any input or output: first contact, time limits, retries, errors.

What reads may be sent again; a change is sent once, so it cannot be applied twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Protocol

from pydantic import ValidationError

from sphynx.client.calls import Call, beyond_keys, call, parse
from sphynx.client.steps import Conversation, Failure, Pause, Reply, Send, Tell
from sphynx.errors import SphynxError, UsageError
from sphynx.schema.operations import EXTENSIONS
from sphynx.schema.wire import EvalBatch, EvalRunPage, StartedBatch

FIRST_CONTACT_S = 5.0
READ_S = 30.0
CHANGE_S = 60.0
"""A change may take longer than a read, but a network that says nothing must not hold anyone for ever."""
WAIT_MS = 3_600_000
POLL_MS = 1_000
MAX_POLL_MS = 15_000
_GROWTH = 1.3
_RETRIED = frozenset({429, 502, 503, 504})
_PAUSES = (0.2, 1.0)
_WAIT_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0, 30.0, 30.0)
_SLICE_S = 0.2
_UNCHANGED = 304
ETAG = "batches-etag"
"""What a server announces that answers 304 to who has seen a batch's state."""


class Signal(Protocol):
    """Something that may be set to stop waiting, such as a ``threading.Event``."""

    def is_set(self) -> bool: ...


@dataclass(slots=True)
class Server:
    """What is known of a server: its address, and once it was reached what it announces."""

    base_url: str
    api_key: str = field(repr=False)
    reached: bool = False
    extensions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Waiting:
    """How to wait for a batch."""

    on_progress: Callable[[EvalBatch], Any] | None = None
    signal: Signal | None = None
    timeout_ms: float = WAIT_MS
    poll_interval_ms: float = POLL_MS
    max_interval_ms: float = MAX_POLL_MS

    def __post_init__(self) -> None:
        for name in ("timeout_ms", "poll_interval_ms", "max_interval_ms"):
            if getattr(self, name) <= 0:
                raise UsageError(f"{name} must be more than 0, not {getattr(self, name):g}")


class WaitTimeout(SphynxError):
    """A batch still ran when the time to wait for it was up. It was not cancelled."""


def reach(server: Server) -> Conversation[None]:
    """Ask for ``/`` once: any HTTP answer will do. Says within 5 s that nobody is there."""
    if server.reached:
        return
    answer = yield Send("GET", "/", timeout_s=FIRST_CONTACT_S)
    if not isinstance(answer, Reply):
        reason = answer.reason if isinstance(answer, Failure) else ""
        raise unreachable(server, reason)
    server.reached = True
    try:
        told = json.loads(answer.body)
        server.extensions = frozenset(map(str, told.get("extensions", ())))
    except (ValueError, AttributeError, TypeError):
        server.extensions = frozenset()


def exchange(server: Server, what: Call, pauses: tuple[float, ...] | None = None) -> Conversation[Any]:
    """Send one call and give its typed result. Raises ``SphynxError`` with status, tag and issues."""
    return _result(server, what, (yield from _answered(server, what, pauses)))


def _answered(
    server: Server, what: Call, pauses: tuple[float, ...] | None = None
) -> Conversation[Reply | Failure | None]:
    """Send one call, again where that is the same as once."""
    yield from reach(server)
    _refuse_unannounced(server, what)
    operation = what.operation
    reads = operation.retry_safe
    request = Send(
        "POST",
        operation.path,
        what.encoded(),
        {"authorization": f"Bearer {server.api_key}", "content-type": "application/json", **what.headers},
        READ_S if reads else CHANGE_S,
    )
    repeatable = reads or "idempotency-key" in what.headers
    answer = yield request
    for pause in (pauses if pauses is not None else _PAUSES) if repeatable else ():
        if not _worth_a_retry(answer):
            break
        yield Pause(pause)
        answer = yield request
    return answer


def wait(server: Server, batch_id: str, waiting: Waiting) -> Conversation[EvalBatch]:
    """Poll until the batch is no longer running, less often as it goes on. It is never cancelled."""
    begun = monotonic()
    interval = min(waiting.poll_interval_ms, waiting.max_interval_ms) / 1000
    seen: tuple[int, int] | None = None
    latest: _Latest | None = None
    while True:
        latest = yield from _read_again(server, batch_id, latest)
        batch = latest.batch
        progress = settled(batch)
        if waiting.on_progress is not None and (progress != seen or batch.status != "running"):
            yield Tell(waiting.on_progress, batch)
        if batch.status != "running":
            return batch
        interval = waiting.poll_interval_ms / 1000 if progress != seen else interval * _GROWTH
        interval = min(interval, waiting.max_interval_ms / 1000)
        seen = progress
        left = waiting.timeout_ms / 1000 - (monotonic() - begun)
        if left <= 0:
            raise WaitTimeout(
                f"batch {batch_id} was still running after {waiting.timeout_ms / 1000:g} s",
                hint="it was not cancelled: evals.batches.wait() goes on waiting",
            )
        yield from _rest(min(interval, left), batch_id, waiting.signal)


@dataclass(frozen=True, slots=True)
class _Latest:
    """A batch as it was last read, and what its server calls that state."""

    batch: EvalBatch
    etag: str | None


def _read_again(server: Server, batch_id: str, latest: _Latest | None) -> Conversation[_Latest]:
    """Read a batch; one that is as it was is not sent again by a server that knows what was seen."""
    asked = call("evals.batches.get", id=batch_id)
    if latest is not None and latest.etag is not None and ETAG in server.extensions:
        asked = replace(asked, headers={"if-none-match": latest.etag})
    answer = yield from _answered(server, asked, _WAIT_PAUSES)
    if latest is not None and isinstance(answer, Reply) and answer.status == _UNCHANGED:
        return latest
    etag = answer.headers.get("etag") if isinstance(answer, Reply) else None
    return _Latest(_result(server, asked, answer), etag)


def start_and_wait(server: Server, start: Call, waiting: Waiting) -> Conversation[EvalBatch]:
    """Start a batch and wait for it."""
    started: StartedBatch = yield from exchange(server, start)
    return (yield from wait(server, started.id, waiting))


def settled(batch: EvalBatch) -> tuple[int, int]:
    """How many trials have ended and how many have begun."""
    trials = [trial for run in batch.runs for trial in run.trials]
    ended = sum(trial.status not in ("queued", "running") for trial in trials)
    return ended, sum(trial.status != "queued" for trial in trials)


LISTS = {
    "evals.batches.list": "batches",
    "evals.suites.list": "suites",
    "evals.cases.list": "cases",
    "evals.runs.list": "runs",
}
"""What the pages of an operation list."""


def next_page(page: Any, fields: dict[str, Any]) -> dict[str, Any] | None:
    """The fields that ask for the page after ``page``; ``None`` after the last."""
    if isinstance(page, EvalRunPage):
        more = bool(page.runs) and page.page * page.page_size < page.total
        return {**fields, "page": page.page + 1} if more else None
    return None if page.next is None else {**fields, "cursor": page.next.wire()}


def unreachable(server: Server, reason: str) -> SphynxError:
    """Nobody answers at the address."""
    detail = f" ({reason})" if reason else ""
    return SphynxError(
        f"cannot reach Sphynx at {server.base_url}{detail}", hint="check the network, or SPHYNX_BASE_URL"
    )


def _rest(seconds: float, batch_id: str, signal: Signal | None) -> Conversation[None]:
    end = monotonic() + seconds
    while signal is not None and (left := end - monotonic()) > 0:
        if signal.is_set():
            break
        yield Pause(min(left, _SLICE_S))
    if signal is None:
        yield Pause(seconds)
    elif signal.is_set():
        raise SphynxError(f"stopped waiting for batch {batch_id}", hint="it was not cancelled")


def _worth_a_retry(answer: Reply | Failure | None) -> bool:
    if isinstance(answer, Reply):
        return answer.status in _RETRIED
    return isinstance(answer, Failure) and answer.kind != "timeout"


def _refuse_unannounced(server: Server, what: Call) -> None:
    if what.operation.name in EXTENSIONS and "x-sphynx" not in server.extensions:
        raise UsageError(f"the server at {server.base_url} does not have {what.operation.name}")
    keys = beyond_keys(what.body)
    if keys and "x-sphynx" not in server.extensions:
        raise UsageError(
            f"the server at {server.base_url} does not know: {', '.join(keys)}",
            hint="leave them out, run with --local, or use a server started with sphynx serve",
        )


def _result(server: Server, what: Call, answer: Reply | Failure | None) -> Any:
    name = what.operation.name
    if not isinstance(answer, Reply):
        if isinstance(answer, Failure) and answer.kind == "timeout" and what.operation.retry_safe:
            raise SphynxError(
                f"{server.base_url} did not answer {name} within {READ_S:g} s", hint="it is slow, try again"
            )
        if isinstance(answer, Failure) and answer.sent and not what.operation.retry_safe:
            raise SphynxError(
                f"the connection to {server.base_url} broke during {name} ({answer.reason})",
                hint="the server may have done it: look before you send it again",
            )
        raise unreachable(server, answer.reason if isinstance(answer, Failure) else "")
    if answer.status != what.operation.status:
        raise error_of(answer, name)
    try:
        return parse(what.operation, answer.body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SphynxError(
            f"{server.base_url} answered {name} in an unknown form: {where}: {first['msg']}",
            status=answer.status,
        ) from None


def error_of(answer: Reply, name: str) -> SphynxError:
    """What a refusal says: its message, and field by field what is wrong with the request."""
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("message"), str):
        return SphynxError(f"{name}: the server answered {answer.status}", status=answer.status)
    found = body.get("issues")
    issues = [_issue(issue) for issue in found if isinstance(issue, dict)] if isinstance(found, list) else []
    message = "; ".join(issues) or body["message"] or f"{name}: the server answered {answer.status}"
    hint = "set SPHYNX_API_KEY to a key of this server" if answer.status == 401 else None
    tag = body.get("_tag")
    return SphynxError(
        message, hint=hint, status=answer.status, tag=tag if isinstance(tag, str) else None, issues=issues
    )


def _issue(issue: dict[str, Any]) -> str:
    parts = issue.get("path")
    keys = [str(p.get("key")) if isinstance(p, dict) else str(p) for p in parts] if parts else []
    return f"{'.'.join(keys)}: {issue.get('message')}" if keys else str(issue.get("message"))
