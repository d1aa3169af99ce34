"""What a trial is said to have cost."""

from __future__ import annotations

from sphynx.engine.costing import cost_lines
from sphynx.journal.events import Usage
from sphynx.results.costs import is_incomplete

USAGE = Usage(input_tokens=1_000_000, output_tokens=0)


def model(*args, **named):
    return cost_lines(*args, harness="command", **named)[0]


def test_components_come_in_the_documented_order() -> None:
    lines = cost_lines("m", None, harness="command")
    assert [line.component for line in lines] == ["model", "harness", "sandbox", "platform"]


def test_a_listed_model_is_priced_and_the_rate_is_kept() -> None:
    line = model("gpt-4o", USAGE)
    assert line.classification == "estimate" and line.usd and line.usd > 0
    assert line.detail["rateSnapshot"]["input"] > 0 and line.detail["inputTokens"] == 1_000_000


def test_what_is_not_known_stays_unknown() -> None:
    for line in (model("no-such-model-1", USAGE), model("gpt-4o", None)):
        assert (line.classification, line.usd) == ("unknown", None)
    assert is_incomplete(cost_lines("no-such-model-1", USAGE, harness="command"))


def test_a_model_that_was_never_asked_costs_nothing() -> None:
    lines = cost_lines("no-such-model-1", None, harness="command", ran=False)
    assert lines[0].usd == 0.0 and not is_incomplete(lines)


def test_the_model_that_answered_is_priced_when_it_is_listed() -> None:
    assert model("alias", USAGE, observed="gpt-4o").usd == model("gpt-4o", USAGE).usd
    assert model("gpt-4o", USAGE, observed="no-such-model-1").usd == model("gpt-4o", USAGE).usd
