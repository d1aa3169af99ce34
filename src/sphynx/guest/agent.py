"""Run a variant's own function as the agent, one turn at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sphynx.errors import SphynxError
from sphynx.guest import frames, limits
from sphynx.guest.calling import Caller, Loop
from sphynx.guest.protocol import EXIT_FAILED, EXIT_OK, Outbox
from sphynx.guest.values import NotJson, to_json


def run_turn(
    fn: Any, payload: Mapping[str, Any], outbox: Outbox, *, workspace: str, home: str, tree: str
) -> int:
    """Call ``fn(turn, emit)`` and send what it emits as it arises, then what it keeps. Gives the exit code.

    A text it returns is emitted as its message.
    """
    from sphynx.runner.agent import Turn
    from sphynx.runner.emitter import create_emitter

    name = getattr(fn, "__name__", None) or type(fn).__name__
    emit = create_emitter(write=lambda line: outbox.send({"t": "event", "line": line}))
    turn = Turn(payload, workspace=workspace, home=home)
    try:
        answer = Loop().call(lambda asked: fn(asked, emit), turn, Caller(fn))
        if answer is not None and not isinstance(answer, str):
            raise SphynxError(
                f"returned {type(answer).__name__}; an agent returns its answer as text, or nothing"
            )
        state = _kept(turn.state)
    except SystemExit as error:
        if error.code not in (None, 0):
            return _failed(outbox, f"The agent {name} exited with status {error.code}")
        answer, state = None, _kept(turn.state)
    except SphynxError as error:
        return _failed(outbox, f"The agent {name} {error.message}")
    except BaseException as error:
        where = frames.place(error, tree)
        at = f" ({where[0]}:{where[1]})" if where else ""
        return _failed(outbox, f"The agent {name} raised {frames.one_line(error)}{at}")
    if answer:
        emit.message(text=answer)
    outbox.send({"t": "turn", "state": json.loads(state)})
    return EXIT_OK


def _kept(state: Any) -> str:
    """The state as JSON; ``SphynxError`` says why it cannot be kept."""
    if not isinstance(state, dict):
        raise SphynxError(f"set turn.state to {type(state).__name__}; it must stay a dict")
    try:
        text = to_json(state)
    except NotJson as error:
        raise SphynxError(f"keeps something in turn.state that JSON cannot hold: {error}") from None
    if limits.units(text) > limits.PREPARED:
        raise SphynxError(f"keeps more than {limits.PREPARED:,} characters of JSON in turn.state")
    return text


def _failed(outbox: Outbox, message: str) -> int:
    outbox.send({"t": "failed", "message": limits.cut(message, limits.MESSAGE), "status": None})
    return EXIT_FAILED
