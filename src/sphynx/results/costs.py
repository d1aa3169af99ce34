"""Money over several trials. What is not known stays unknown and marks every sum it is missing from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sphynx.schema.records import CostLine

COMPONENTS = ("model", "harness", "sandbox", "platform", "user", "judge")
_LATER = ("user", "judge")
"""Components that older clients of the wire do not know; they are sent apart."""


def is_incomplete(lines: Iterable[CostLine]) -> bool:
    """Whether a sum over these lines leaves something out."""
    return any(line.classification == "unknown" or line.usd is None for line in lines)


def roll_up(groups: Iterable[Sequence[CostLine]]) -> list[CostLine]:
    """One line per component over the lines of several trials or runs, in the order of ``COMPONENTS``.

    A line's amount is the sum of the known ones, ``None`` when none is known; its classification is theirs
    when they agree, else ``unknown``.
    """
    by_component: dict[str, list[CostLine]] = {}
    for lines in groups:
        for line in lines:
            by_component.setdefault(line.component, []).append(line)
    return [_sum(by_component[component]) for component in COMPONENTS if component in by_component]


def costs_to_wire(lines: Sequence[CostLine], incomplete: bool | None = None) -> dict[str, Any] | None:
    """The wire's ``EvalCosts``; ``None`` when there are no lines.

    ``estimatedEquivalentUsd`` sums what tokens would cost at published rates, ``allocatedUsd`` what a managed
    sandbox was charged, ``knownActualUsd`` everything else that is known.
    """
    if not lines:
        return None
    others = [line for line in lines if line.classification not in ("managed", "estimate")]
    missing = is_incomplete(lines) if incomplete is None else incomplete
    wire: dict[str, Any] = {
        "allocatedUsd": _known(lines, "managed"),
        "estimatedEquivalentUsd": _known(lines, "estimate"),
        "incomplete": missing,
        "knownActualUsd": _known(others),
        "components": [_component(line) for line in lines if line.component not in _LATER],
    }
    later = [_component(line) for line in lines if line.component in _LATER]
    return {**wire, "laterComponents": later} if later else wire


def _sum(lines: Sequence[CostLine]) -> CostLine:
    if len(lines) == 1:
        return lines[0]
    kinds = {line.classification for line in lines}
    known = [line.usd for line in lines if line.usd is not None]
    return CostLine(
        component=lines[0].component,
        classification=kinds.pop() if len(kinds) == 1 else "unknown",
        usd=_nano(sum(known)) if known else None,
        source="aggregate",
    )


def _known(lines: Iterable[CostLine], classification: str | None = None) -> float:
    wanted = (line for line in lines if classification in (None, line.classification))
    return _nano(sum((line.usd for line in wanted if line.usd is not None), start=0.0))


def _nano(usd: float) -> float:
    return round(usd, 9)


def _component(line: CostLine) -> dict[str, Any]:
    return {
        "classification": line.classification,
        "component": line.component,
        "detail": line.detail,
        "explanation": line.explanation,
        "source": line.source,
        "usd": line.usd,
    }
