"""``env()`` reads what the command harness sets."""

from __future__ import annotations

import pytest

from sphynx.errors import SphynxError
from sphynx.runner import env

SET = {
    "SPHYNX_PROMPT": "p",
    "SPHYNX_MODEL": "m",
    "SPHYNX_WORKSPACE": "/w",
    "SPHYNX_HOME": "/h",
    "SPHYNX_TRACE_LOG": "/t",
}


def test_reads_everything() -> None:
    """The five that are always there, and the two that may be."""
    found = env({**SET, "SPHYNX_SYSTEM_PROMPT_FILE": "/s", "SPHYNX_SESSION_ID": "run-1"})
    assert (found.prompt, found.model, found.workspace, found.home, found.trace_log) == (
        "p",
        "m",
        "/w",
        "/h",
        "/t",
    )
    assert (found.system_prompt_file, found.session_id) == ("/s", "run-1")


def test_optional_ones_may_be_absent_or_empty() -> None:
    """Empty means absent."""
    assert env(SET).system_prompt_file is None
    assert env({**SET, "SPHYNX_SYSTEM_PROMPT_FILE": "", "SPHYNX_SESSION_ID": ""}).session_id is None


@pytest.mark.parametrize("name", SET)
@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_one_is_named(name: str, value: str | None) -> None:
    """A script run by hand fails with the name of the variable."""
    given = {key: item for key, item in {**SET, name: value}.items() if item is not None}
    with pytest.raises(SphynxError, match=name):
        env(given)


def test_reads_the_process_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument it is the process's own environment."""
    for name, value in SET.items():
        monkeypatch.setenv(name, value)
    assert env().prompt == "p"
