"""What a check returned, judged: a bool, a ``Verdict``, or a dict with the same keys. Nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sphynx.suite.context import Verdict

_KEYS = ("passed", "message", "score", "metrics")
_EXPECTED = 'a check returns True, False, a Verdict or {"passed": ..., "message": ...}'


class BadValue(Exception):
    """A check returned something that is no verdict; the text says what and what would be one."""


class Outcome:
    """A verdict: ``message`` is ``None`` when the check gave none."""

    __slots__ = ("message", "metrics", "passed", "score")

    def __init__(
        self,
        passed: bool,
        message: str | None = None,
        score: float | None = None,
        metrics: dict[str, float] | None = None,
    ) -> None:
        self.passed = passed
        self.message = message
        self.score = score
        self.metrics = metrics


def fields_of(value: Any) -> Any:
    """A ``Verdict`` as the dict it stands for; anything else as it is."""
    if not isinstance(value, Verdict):
        return value
    given = {"message": value.message or None, "score": value.score, "metrics": value.metrics}
    return {"passed": value.passed, **{key: item for key, item in given.items() if item is not None}}


def judge(value: Any) -> Outcome:
    """The verdict in what a check returned. Raises :class:`BadValue`."""
    if isinstance(value, bool):
        return Outcome(value)
    value = fields_of(value)
    if not isinstance(value, dict):
        raise BadValue(f"returned {_shown(value)}; {_EXPECTED}")
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise BadValue(f"returned a dict with the key {unknown[0]!r}; {_EXPECTED}")
    if not isinstance(value.get("passed"), bool):
        missing = "passed" not in value
        said = 'without "passed"' if missing else f'whose "passed" is {_shown(value["passed"])}'
        raise BadValue(f"returned a verdict {said}; it must be True or False")
    message = value.get("message")
    if message is not None and not isinstance(message, str):
        raise BadValue(f'returned a verdict whose "message" is {_shown(message)}; it must be text')
    return Outcome(value["passed"], message, _score(value.get("score")), _metrics(value.get("metrics")))


def _score(score: Any) -> float | None:
    if score is not None and not (_number(score) and 0 <= score <= 1):
        raise BadValue(
            f'returned a verdict whose "score" is {_shown(score)}; it must be a number from 0 to 1'
        )
    return score


def _metrics(metrics: Any) -> dict[str, float] | None:
    if metrics is None:
        return None
    if not isinstance(metrics, Mapping):
        raise BadValue(
            f'returned a verdict whose "metrics" is {_shown(metrics)}; it must be a dict of numbers'
        )
    for name, number in metrics.items():
        if not isinstance(name, str) or not _number(number):
            raise BadValue(
                f"returned a verdict whose metric {name!r} is {_shown(number)}; it must be a number"
            )
    return dict(metrics)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: Any) -> str:
    import inspect

    if value is None:
        return "None"
    if inspect.isawaitable(value):
        return "something that was not awaited (an await is missing)"
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    try:
        text = repr(value)
    except Exception:
        text = ""
    # Whole or not at all: the host could not recognise half a secret.
    return f"{text} ({name})" if 0 < len(text) <= 80 else name
