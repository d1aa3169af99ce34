"""Events and plain data pass redaction field by field."""

from __future__ import annotations

import msgspec
import pytest

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


def test_names_of_an_agent_lose_known_secrets_only() -> None:
    """A session id may look like a key and is needed; one that holds a secret is not shown with it."""
    key_like = "sk-" + "a1b2" * 6
    started = CLEAN.event(Started(session_id=key_like, model=f"m-{SECRET}"))
    assert (started.session_id, started.model) == (key_like, f"m-{MARK}")
    called = CLEAN.event(ToolCall(call_id=SECRET, name=f"tool {SECRET}", status=SECRET))
    assert (called.call_id, called.name, called.status) == (MARK, f"tool {MARK}", MARK)


@pytest.mark.parametrize("mark", ["+", "-", " "])
def test_a_secret_broken_over_lines_is_found_behind_the_marks_of_a_diff(mark: str) -> None:
    """``base64`` wraps its lines; a diff then puts a mark before each."""
    cut = len(SECRET) // 2
    text = f"@@ -0,0 +1,2 @@\n{mark}x {SECRET[:cut]}\n{mark}{SECRET[cut:]} y\n{mark}{SECRET}\n"
    assert CLEAN.diff(text) == f"@@ -0,0 +1,2 @@\n{mark}x {MARK} y\n{mark}{MARK}\n"
