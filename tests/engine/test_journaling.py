"""Events on their way from the agent to checks, disk and screen."""

from __future__ import annotations

from sphynx.engine import journaling
from sphynx.engine.durations import short_duration
from sphynx.engine.journaling import TrialJournal
from sphynx.journal.events import Command, Event, FileChange, Message, Started, ToolCall
from sphynx.redaction import Redactor


def journal(*secrets: str) -> tuple[TrialJournal, list[Event]]:
    stored: list[Event] = []
    return TrialJournal(Redactor(secrets), stored.append), stored


def test_checks_read_what_was_written_and_disk_gets_it_redacted() -> None:
    kept, stored = journal("hunter2-hunter2")
    kept.open_turn("Use hunter2-hunter2")
    kept.emit(Message(role="assistant", text="ok, hunter2-hunter2"))
    assert kept.answer() == kept.transcript() == "ok, hunter2-hunter2"
    assert kept.turns()[0]["userText"] == "Use hunter2-hunter2"
    assert [event.text for event in stored if isinstance(event, Message)] == [
        "Use [redacted]", "ok, [redacted]",
    ]  # fmt: skip


def test_an_event_without_a_time_is_stamped() -> None:
    kept, stored = journal()
    kept.emit(Command(command="ls", exit_code=0, output=""))
    kept.emit(Command(command="ls", exit_code=0, output="", at=5))
    assert stored[0].at is not None and stored[1].at == 5


def test_counts_go_on_when_events_are_no_longer_kept() -> None:
    kept, stored = journal()
    kept.open_turn("go")
    for number in range(journaling.MAX_EVENTS + 10):
        kept.emit(Command(command=f"c{number}", exit_code=number % 2, output=""))
    kept.emit(Message(role="assistant", text="done"))
    assert kept.commands == journaling.MAX_EVENTS + 10
    assert kept.failed_commands == kept.commands // 2
    assert len(stored) == kept.commands + 2
    (turn,) = kept.turns()
    assert turn["eventsDropped"] == kept.dropped == 12
    assert turn["agentText"] == kept.answer() == "done"


def test_long_output_is_kept_short_but_still_marked_as_cut() -> None:
    kept, _ = journal()
    kept.open_turn("go")
    kept.emit(Command(command="cat", exit_code=0, output="x" * 50_000))
    kept.emit(ToolCall(call_id=None, name="t", status=None, input="y" * 50_000, output="z"))
    _, command, call = kept.turns()[0]["events"]
    assert (len(command["output"]), command["outputTruncated"]) == (4_000, True)
    assert (len(call["input"]), call["inputTruncated"], call["output"]) == (4_000, True, "z")


def test_session_and_paths_are_the_first_seen() -> None:
    kept, _ = journal()
    kept.emit(Started(session_id="one", model="m"))
    kept.emit(Started(session_id="two", model="n"))
    kept.emit(FileChange(paths=("/w/b", "/w/a")))
    kept.emit(FileChange(paths=("/w/a", "/w/c")))
    assert (kept.session_id, kept.paths()) == ("one", ["/w/b", "/w/a", "/w/c"])


def test_a_full_disk_is_remembered_and_does_not_stop_the_agent() -> None:
    def full(event: Event) -> None:
        raise OSError(28, "No space left on device")

    kept = TrialJournal(Redactor(), full)
    kept.open_turn("go")
    kept.emit(Message(role="assistant", text="still here"))
    assert (kept.lost, kept.answer()) == ("No space left on device", "still here")


def test_durations_are_short() -> None:
    found = [short_duration(ms) for ms in (1000, 1500, 60_000, 90_000, 300_000, 3_600_000, 3_900_000)]
    assert found == ["1s", "1.5s", "1m", "1m30s", "5m", "1h", "1h5m"]
