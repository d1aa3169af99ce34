"""A case's definition has one hash, and two definitions differ in named parts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from case_data import case_id, load
from sphynx.schema.definition import changes, definition_hash

WHOLE: dict[str, Any] = {
    "prompt": "Do it.",
    "source": {"kind": "repo", "url": "https://git.test/a.git", "ref": "main"},
    "prepare": {"name": "prepare", "source": "await 1;"},
    "validator": {"name": "check", "source": "export {};", "manifest": [{"index": 0, "name": "check"}]},
    "verify": None,
    "user": {"kind": "scripted", "replies": ["yes"]},
    "cache": {"key": "k", "path": "p"},
    "maxTurns": 3,
    "timeoutMs": 1000,
}
LABELS = {
    "prompt": "prompt", "source": "source", "prepare": "setup", "validator": "validator",
    "verify": "verifier",
    "user": "simulated user", "cache": "cache", "maxTurns": "turn limit", "timeoutMs": "time limit",
}  # fmt: skip


@pytest.mark.parametrize("case", load("definition-hash"), ids=case_id)
def test_the_worked_hashes(case: dict[str, Any]) -> None:
    assert definition_hash(case["input"]["definition"]) == case["expected"]["hash"]


@pytest.mark.parametrize("case", load("version-changes"), ids=case_id)
def test_the_worked_changes(case: dict[str, Any]) -> None:
    given = case["input"]
    if "changed" in given:
        before, after = copy.deepcopy(WHOLE), copy.deepcopy(WHOLE)
        for path in given["changed"]:
            spot, *inner = path.split(".")
            if inner:
                after[spot][inner[0]] = "other"
            else:
                after[spot] = "other"
    else:
        before, after = given["before"], given["after"]
    assert changes(before, after) == case["expected"]["changes"]


@pytest.mark.parametrize("key", LABELS)
def test_each_part_is_told_apart_in_the_hash_and_by_its_label(key: str) -> None:
    after = {**WHOLE, key: "x" if WHOLE[key] is None else None}
    if key == "prompt":
        after["prompt"] = "Do that."
    assert definition_hash(after) != definition_hash(WHOLE)
    assert changes(WHOLE, after) == [LABELS[key]]
    assert changes(WHOLE, WHOLE) == []


def test_files_count_by_path_and_text_in_whatever_order_they_are_given() -> None:
    one = {"prompt": "", "source": {"kind": "files", "files": {"b": "2", "A": "1", "a": "0"}}}
    two = {"prompt": "", "source": {"kind": "files", "files": {"a": "0", "A": "1", "b": "2"}}}
    other = {"prompt": "", "source": {"kind": "files", "files": {"a": "0", "A": "1", "b": "3"}}}
    assert definition_hash(one) == definition_hash(two) != definition_hash(other)


def test_a_judged_validator_counts_without_its_captured_source_files() -> None:
    judged = {"kind": "judged", "name": "n", "checks": [], "judges": [{"kind": "judge", "name": "j"}]}
    plain = definition_hash({"prompt": "", "validator": judged})
    assert definition_hash({"prompt": "", "validator": {**judged, "sourceFiles": [{"path": "a"}]}}) == plain
    assert definition_hash({"prompt": "", "validator": {**judged, "name": "m"}}) != plain


def test_what_only_our_server_reads_changes_the_hash_only_when_it_is_there() -> None:
    plain = definition_hash({"prompt": ""})
    assert definition_hash({"prompt": "", "x-sphynx": {}}) == plain
    assert definition_hash({"prompt": "", "x-sphynx": {"commandTimeoutMs": 5}}) != plain
