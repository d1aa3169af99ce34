"""Run a handler of an MCP or CLI mock and report the call, whatever becomes of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sphynx.mocks.definition import Declared
from sphynx.mocks.handling import HandlerFailed, MockContext, Runtime
from sphynx.mocks.schemas import Adapter, Mismatch
from sphynx.mocks.snapshots import ERROR, Log, compact, field_names, hidden, kept

Report = Callable[[str, "dict[str, Any]", "str | None"], None]
"""Takes the kind of mock, a call's record, and what broke the mock if that voids the trial."""


class CallFailed(Exception):
    """What the agent is told of a call that failed."""


async def run(
    part: Declared,
    given: Any,
    record: dict[str, Any],
    runtime: Runtime,
    report: Callable[[dict[str, Any]], None],
    *,
    adapter: Adapter | None,
    output: Adapter | None,
) -> Any:
    """What the handler of ``part`` gives for ``given``, as JSON. ``record`` is completed and reported first.

    ``adapter`` reads the input; without one the handler takes none. ``CallFailed`` says what went wrong.
    """
    names = field_names()
    log = Log(names)
    where = f"{record.get('server') or record.get('cli')} {part.label}"
    started, begun = time.time() * 1000, time.perf_counter()
    outcome: dict[str, Any] = {}
    asked = kept(hidden(given, names))
    try:
        value = await _value(part, where, record, given, runtime, log, adapter, output)
        outcome["output"] = kept(hidden(value, names))
        return value
    except CallFailed as failed:
        outcome["error"] = str(failed)[:ERROR]
        raise
    finally:
        if "output" not in outcome:
            outcome.setdefault("error", "the call was given up")
        report({
            **record,
            "input": asked,
            **outcome,
            "startedAt": started,
            "durationMs": round((time.perf_counter() - begun) * 1000, 3),
            "logs": log.entries,
        })  # fmt: skip


async def _value(
    part: Declared,
    where: str,
    record: dict[str, Any],
    given: Any,
    runtime: Runtime,
    log: Log,
    adapter: Adapter | None,
    output: Adapter | None,
) -> Any:
    arguments: tuple[Any, ...] = ()
    if adapter is not None:
        try:
            arguments = (adapter.load(given, texts="cli" in record),)
        except Mismatch as error:
            raise CallFailed(f"{where}: input {error}") from None
        except RecursionError:
            raise CallFailed(f"{where}: input is nested too deeply") from None
    try:
        value = await runtime.call(part.get("handler"), arguments, MockContext(runtime, log))
    except HandlerFailed as error:
        raise CallFailed(str(error)) from None
    return fitting(where, value, output)


def fitting(where: str, value: Any, output: Adapter | None) -> Any:
    """A handler's value as JSON. ``CallFailed`` when its schema or JSON does not allow it."""
    from sphynx.mocks.schemas import plain

    try:
        value = plain(value) if output is None else output.dump(value)
        compact(value)
    except Mismatch as error:
        raise CallFailed(f"{where}: output {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise CallFailed(f"{where}: output cannot be JSON: {error}") from None
    return value
