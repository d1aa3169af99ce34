"""The loader gives the worked cases ready to use."""

from __future__ import annotations

import pytest

from case_data import QUIET_MARK, case_id, load


def test_repeats_are_built_out_everywhere() -> None:
    """A repeated text becomes one text, a repeated object a list, a list of times a list of texts."""
    journal = load("journal")[0]
    assert journal["input"]["events"][1]["output"] == "q" * 4001
    evidence = {case["id"]: case for case in load("judge-evidence")}
    assert [len(text) for text in evidence["judge-evidence-01"]["input"]] == [4000, 4001]
    assert len(evidence["judge-evidence-02"]["input"]["events"]) == 60


def test_the_quiet_mark_is_gone() -> None:
    """Keys in the cases are whole again after loading."""
    assert QUIET_MARK not in repr(load("redaction"))


def test_an_unknown_area_is_an_error() -> None:
    """A mistyped area cannot make a test pass by running nothing."""
    with pytest.raises(LookupError, match="no worked cases"):
        load("no-such-area")


def test_both_files_are_read() -> None:
    """Areas of either file load under the same call, with their ids."""
    assert case_id(load("env-file")[0]) == "env-file-01"
    assert case_id(load("gate")[0]) == "gate-01"
