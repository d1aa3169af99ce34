"""The screen as a sink: floods are bounded, chunks become lines."""

from __future__ import annotations

import io
import time

from recorded_trials import CASE, batch, trial

from sphynx.cli.out import Out
from sphynx.cli.screen import Screen
from sphynx.contracts import TrialKey
from sphynx.journal.events import Command, Message

KEY = TrialKey("20261130-211405-k3f9", "hello", CASE, "command/steady", 1)


def screen(*, in_order: bool) -> tuple[Screen, io.StringIO]:
    stream = io.StringIO()
    shown = Screen(Out(stream), "plain", jobs=2, in_order=in_order)
    shown.batch_started(batch("command/steady", trials=1))
    shown.trial_started(KEY)
    return shown, stream


def test_a_million_events_are_counted_not_printed() -> None:
    shown, stream = screen(in_order=False)
    event = Command("true", 0, "")
    began = time.process_time()
    for _ in range(1_000_000):
        shown.event(KEY, event)
    shown.trial_ended(KEY, trial())
    assert time.process_time() - began < 5
    assert stream.getvalue().count("├ ran") == 2_000
    assert "    … 998,000 more events, all in the journal\n" in stream.getvalue()
    assert stream.getvalue().endswith("\n  ✓ passed\n")


def test_huge_messages_are_bounded_too() -> None:
    shown, stream = screen(in_order=True)
    for _ in range(500):
        shown.event(KEY, Message("assistant", "word " * 100_000))
    assert len(stream.getvalue()) < 700_000


def test_output_in_pieces_becomes_whole_lines_and_its_rest_is_not_lost() -> None:
    shown, stream = screen(in_order=True)
    for part in ("see", "ding\nthr", "ee rows\nlast"):
        shown.output(KEY, "prepare", part)
    assert stream.getvalue().endswith("  prepare │ seeding\n  prepare │ three rows\n")
    shown.event(KEY, Message("user", "go"))
    assert "  prepare │ last\n\n  ❯ User\n    go\n" in stream.getvalue()


def test_a_flood_of_output_ends_with_a_word_about_it() -> None:
    shown, stream = screen(in_order=True)
    for _ in range(400):
        shown.output(KEY, "prepare", "x" * 60_000)
    assert len(stream.getvalue()) < 800_000
    assert stream.getvalue().endswith("  prepare │ … prepare prints more than is shown here\n")


def test_a_cancelled_trial_has_no_verdict_on_screen() -> None:
    shown, stream = screen(in_order=True)
    shown.trial_ended(KEY, trial("cancelled", reason="interrupted"))
    assert "cancelled" not in stream.getvalue()
    assert shown.running == 0
