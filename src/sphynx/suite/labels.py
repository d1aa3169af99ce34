"""Choosing variants by their labels: ``harness/model``, ``harness/model@profile``, or a profile's name."""

from __future__ import annotations

from collections.abc import Sequence

from sphynx.errors import UsageError
from sphynx.suite.fields import nearest
from sphynx.suite.variants import Variant


def select_variants(labels_wanted: Sequence[str], variants: Sequence[Variant], file: str) -> list[int]:
    """The places of the wanted variants, in the file's order, each once.

    A label takes its own variant first; only when none has it, ``harness/model`` or a profile's name
    takes the one variant it fits. Variants that share a label (they differ in sandbox) are taken together.
    ``UsageError`` when a name fits none or more than one label; its ``issues`` are the labels to choose from.
    """
    taken: set[int] = set()
    for wanted in labels_wanted:
        exact = [place for place, variant in enumerate(variants) if variant.label == wanted]
        taken.update(exact or _loose(wanted, variants, file))
    return sorted(taken)


def labels(variants: Sequence[Variant]) -> list[str]:
    """The labels of variants, in order, each once."""
    return list(dict.fromkeys(variant.label for variant in variants))


def _loose(wanted: str, variants: Sequence[Variant], file: str) -> list[int]:
    places = [
        place
        for place, variant in enumerate(variants)
        if wanted in (f"{variant.harness}/{variant.model}", variant.profile_name)
    ]
    fitting = labels([variants[place] for place in places])
    if len(fitting) == 1:
        return places
    if fitting:
        lead = f'{file}: variant "{wanted}" is ambiguous, it fits {len(fitting)} variants'
        raise UsageError(
            "\n  ".join([lead, *fitting]), hint="name one of them, or repeat --variant", issues=fitting
        )
    every = labels(variants)
    near = nearest(wanted, every)
    there = f"there are: {', '.join(every)}"
    raise UsageError(
        f'no variant "{wanted}" in {file}',
        hint=f'did you mean "{near}"? {there}' if near else there,
        issues=every,
    )
