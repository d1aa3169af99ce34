"""The loader gives the worked cases ready to use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from case_data import QUIET_MARK, all_cases, case_id, load


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


TALKS = {"start-checks", "recorded-run", "check-run"}
"""Talks with a server and with GitHub: no function of ours takes them as a value, tests/server and tests/cli
speak them over HTTP."""


def test_every_area_is_run_by_some_test() -> None:
    """A worked case nobody loads would count as kept though nothing checks it."""
    tests = Path(__file__).parent
    written = "".join(path.read_text(encoding="utf-8") for path in sorted(tests.rglob("test_*.py")))
    loaded = set(re.findall(r"""\bload\(["']([a-z-]+)["']\)""", written))
    areas = {case["area"] for case in all_cases()}
    assert areas - loaded - TALKS == set()
    picked = {case["id"] for case in all_cases() if case["area"] in ("judge-verdict", "person-reply")}
    assert {name for name in picked if f'"{name}"' not in written} == set(), "cases that are picked by id"
