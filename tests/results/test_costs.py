"""Sums of money: what is not known is not made up, and marks the sum."""

from __future__ import annotations

from sphynx.results.costs import costs_to_wire, is_incomplete, roll_up
from sphynx.schema.records import CostLine
from sphynx.schema.wire import EvalCosts


def line(component: str, usd: float | None, classification: str = "estimate") -> CostLine:
    return CostLine(component=component, classification=classification, usd=usd, source="s", explanation="e")


def test_components_are_summed_apart() -> None:
    """One line each, in a fixed order, exact to the nano-dollar; a single line stays as it is."""
    total = roll_up([[line("judge", 0.1), line("model", 0.1)], [line("model", 0.2)]])
    assert [(item.component, item.usd, item.source) for item in total] == [
        ("model", 0.3, "aggregate"),
        ("judge", 0.1, "s"),
    ]


def test_an_unknown_part_is_left_out_and_marks_the_sum() -> None:
    """The known part is still shown; nothing known at all is no amount, not zero."""
    (some,) = roll_up([[line("model", 0.2)], [line("model", None, "unknown")]])
    assert (some.usd, some.classification) == (0.2, "unknown")
    (none,) = roll_up([[line("model", None, "unknown")], [line("model", None, "unknown")]])
    assert (none.usd, none.classification) == (None, "unknown")
    assert is_incomplete([some])
    assert not is_incomplete([line("model", 0.0)])


def test_costs_on_the_wire() -> None:
    """Estimates, managed and known amounts apart; newer components where older clients do not look."""
    wire = costs_to_wire(
        [
            line("model", 0.25),
            line("sandbox", 0.5, "managed"),
            line("platform", 0.0, "included"),
            line("judge", 0.125),
        ]
    )
    assert wire is not None
    assert (wire["estimatedEquivalentUsd"], wire["allocatedUsd"], wire["knownActualUsd"]) == (0.375, 0.5, 0.0)
    assert [item["component"] for item in wire["components"]] == ["model", "sandbox", "platform"]
    assert [item["component"] for item in wire["laterComponents"]] == ["judge"]
    assert wire["incomplete"] is False
    EvalCosts.model_validate(wire)


def test_no_lines_are_no_costs() -> None:
    """A trial nobody priced has no costs, which is not a cost of zero."""
    assert costs_to_wire([]) is None
    assert roll_up([[], []]) == []
