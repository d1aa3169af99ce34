"""How far a judge agrees with the people who labelled the same answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over the answers the judge gave a verdict on. ``kappa`` is ``None`` where it has no meaning."""

    scored: int
    agreed: int
    kappa: float | None
    confusion: dict[str, dict[str, int]]
    """By label, then by the judge's choice: how many."""

    @property
    def rate(self) -> float | None:
        """Share of answers both say the same of; ``None`` when there is none."""
        return self.agreed / self.scored if self.scored else None


def agreement(pairs: Sequence[tuple[str, str]], choices: Sequence[str]) -> Agreement:
    """Compare ``(label, choice)`` pairs.

    Cohen's kappa is agreement beyond what both would reach by chance: 1 is always, 0 no better than chance,
    below 0 worse. When both say one and the same thing of everything chance explains all of it, and there is
    no kappa.
    """
    confusion = {label: dict.fromkeys(choices, 0) for label in choices}
    for label, choice in pairs:
        confusion[label][choice] += 1
    count = len(pairs)
    agreed = sum(label == choice for label, choice in pairs)
    return Agreement(count, agreed, _kappa(confusion, count, agreed, choices), confusion)


def _kappa(
    confusion: dict[str, dict[str, int]], count: int, agreed: int, choices: Sequence[str]
) -> float | None:
    if not count:
        return None
    chance = sum(
        sum(confusion[choice].values()) * sum(row[choice] for row in confusion.values()) for choice in choices
    )
    # Whole numbers until the last division, so that "always by chance" is exact.
    left = count * count - chance
    return (agreed * count - chance) / left if left else None
