"""A settled trial in a few lines: its verdict and the checks that say why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sphynx.schema.records import TrialRecord

Paint = Callable[[str, str], str]
"""Gives a text its colour: ``paint(text, "green" | "red" | "yellow" | "dim")``."""

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red")}
_NOT_PASSED = ("failed", "error")


def lines(
    status: str,
    *,
    validations: Sequence[Mapping[str, Any]] = (),
    verify_steps: Sequence[Mapping[str, Any]] = (),
    void_fields: Sequence[str] = (),
    failure: str | None = None,
    paint: Paint | None = None,
) -> list[str]:
    """The verdict of one trial.

    ``validations`` and ``verify_steps`` are wire shapes. A scored trial says how many of its checks passed
    and lists those that did not, with their messages; any other says why it was not scored. No colour codes
    unless ``paint`` puts them in.
    """
    colour = paint or _plain
    mark, tint = _MARKS.get(status, ("○", "yellow"))
    word = status.replace("_", " ")
    if status not in _MARKS:
        reason = failure or ", ".join(void_fields)
        return [f"  {colour(mark, tint)} {word}" + (f" · {reason}" if reason else "")]
    counted = _counted(validations, verify_steps)
    result = [f"  {colour(mark, tint)} {word}{counted}"]
    if status == "failed":
        for check in validations:
            if check.get("status") in _NOT_PASSED:
                result += _failing(check, colour)
    return result


def of_record(record: TrialRecord, paint: Paint | None = None) -> list[str]:
    """The verdict of a stored trial."""
    return lines(
        record.status,
        validations=record.validations,
        verify_steps=[step.model_dump(by_alias=True) for step in record.verify_steps],
        void_fields=record.void_fields,
        failure=record.reason,
        paint=paint,
    )


def duration(ms: float) -> str:
    """``157ms``, ``3.1s``, ``5m00s``."""
    if round(ms) < 1000:
        return f"{round(ms)}ms"
    if round(ms / 100) < 600:
        return f"{ms / 1000:.1f}s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes}m{seconds:02d}s"


def _plain(text: str, colour: str) -> str:
    return text


def _counted(validations: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]]) -> str:
    if validations:
        passed, total = sum(check.get("status") == "passed" for check in validations), len(validations)
    elif steps:
        passed, total = sum(step.get("exitCode") == 0 for step in steps), len(steps)
    else:
        return ""
    return f" · {passed} of {total} checks passed"


def _failing(check: Mapping[str, Any], colour: Paint) -> list[str]:
    took = check.get("durationMs")
    timing = f" · {duration(took)}" if isinstance(took, int | float) else ""
    head = f"    {colour('✗', 'red')} {check.get('name') or 'check'}{timing}"
    message = str(check.get("message") or "").rstrip()
    return [head, *(f"      {line}".rstrip() for line in message.splitlines())]
