"""``script()`` keeps the replies and says what it is."""

from __future__ import annotations

from sphynx.validators import script


def test_replies_are_kept_in_order() -> None:
    """Changing the list later does not change the script."""
    replies = ["yes", "that looks right"]
    person = script(replies)
    replies.append("no")
    assert (person.sphynx_kind, person.replies) == ("script", ["yes", "that looks right"])
