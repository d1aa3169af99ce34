"""What a trial's events add up to."""

from __future__ import annotations

from sphynx.journal.events import Command, FileChange, Finished, Message, Started, Usage
from sphynx.journal.summary import counts


def test_counts_of_a_trial() -> None:
    """Commands, those known to have failed, changed files once each, the first session, the last answer."""
    tally = counts(
        [
            Message(role="user", text="go"),
            Started("s1", "m1"),
            Started("s2", "m2"),
            Command("a", 0, ""),
            Command("b", None, ""),
            Command("c", 3, ""),
            FileChange(("y", "x")),
            FileChange(("x", "z")),
            Message(role="assistant", text="one"),
            Message(role="assistant", text="two"),
            Finished("done"),
        ]
    )
    assert (tally.commands, tally.failed_commands) == (3, 1)
    assert tally.files_changed == ["y", "x", "z"]
    assert (tally.session_id, tally.model) == ("s1", "m1")
    assert (tally.answer, tally.finished, tally.turns, tally.events) == ("two", "done", 1, 11)


def test_usage_is_summed_and_a_price_needs_all_parts() -> None:
    """A sum with a part of unknown price has no price: half a sum would look like the whole."""
    priced = Usage(1, 2, cost_usd=0.25)
    assert (priced + priced) == Usage(2, 4, total_tokens=6, cost_usd=0.5)
    assert (priced + Usage(1, 1)).cost_usd is None
