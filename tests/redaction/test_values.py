"""Events and plain data pass redaction field by field."""

from __future__ import annotations

import msgspec

from sphynx.journal.events import Command, FileChange, Finished, Message, Started, ToolCall
from sphynx.redaction import MARK, Redactor

SECRET = "hunter2-hunter2"
CLEAN = Redactor([SECRET])


def test_every_free_text_of_an_event_is_redacted() -> None:
    """Message text, command and output, tool payloads, paths and the finishing reason."""
    found = [
        CLEAN.event(Message(role="user", text=f"a {SECRET}")),
        CLEAN.event(Command(command=f"echo {SECRET}", exit_code=0, output=SECRET)),
        CLEAN.event(
            ToolCall(call_id="c", name="t", status="ok", input=SECRET, output=SECRET, error=f"{SECRET}!")
        ),
        CLEAN.event(FileChange(paths=("a", f"/w/{SECRET}.txt"))),
        CLEAN.event(Finished(reason=f"failed: {SECRET}")),
    ]
    assert SECRET not in msgspec.json.encode(found).decode()
    assert found[3] == FileChange(paths=("a", f"/w/{MARK}.txt"))


def test_names_and_ids_of_an_event_stay() -> None:
    """Session, model, tool names and statuses are left alone."""
    started = Started(session_id=SECRET, model=SECRET)
    assert CLEAN.event(started) is started
    call = CLEAN.event(ToolCall(call_id=SECRET, name=SECRET, status=SECRET, input=None))
    assert (call.call_id, call.name, call.status, call.input) == (SECRET, SECRET, SECRET, None)


def test_an_event_without_secrets_is_the_same_object() -> None:
    """Nothing is copied when nothing changes: a million events are cheap."""
    event = Command(command="ls", exit_code=0, output="a\nb\n", at=1)
    assert CLEAN.event(event) is event


def test_data_is_redacted_in_depth_and_in_names() -> None:
    """Texts anywhere in JSON data, keys too; other values stay as they are."""
    value = {"a": [1, None, True, {"b": f"x{SECRET}"}], SECRET: 2, "c": 1.5}
    assert CLEAN.value(value) == {"a": [1, None, True, {"b": f"x{MARK}"}], MARK: 2, "c": 1.5}


def test_fields_that_become_the_same_are_kept_apart() -> None:
    """Two secret names in one object do not swallow each other's value."""
    clean = Redactor(["secret-one-1", "secret-two-2"]).value({"secret-one-1": 1, "secret-two-2": 2})
    assert sorted(clean.values()) == [1, 2]


def test_data_nested_without_end_is_given_up() -> None:
    """Data too deep to walk is replaced, not passed on unseen."""
    deep: list = [SECRET]
    for _ in range(500):
        deep = [deep]
    assert SECRET not in repr(CLEAN.value(deep))
