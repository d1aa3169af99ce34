"""Variants: labels, functions as harness, registered names."""

from __future__ import annotations

import uuid

import pytest

from sphynx.registry import register_harness
from sphynx.suite import suite, variant
from sphynx.suite.harness_names import BUILT_IN, LOCAL


async def my_agent(turn) -> None:
    """Stands for an agent that is a library."""


def problems_of(kind) -> list[str]:
    made = suite(id="s", prompt="p", cases=[{"id": "x", "validate": len}], variants=[kind])
    return [one.message for one in made.problems()]


def test_labels() -> None:
    """``harness/model``, plus ``@profile``."""
    assert variant(harness="codex", model="luna").label == "codex/luna"
    assert variant(harness="codex", model="a/b", profile={"name": "p", "dir": "."}).label == "codex/a/b@p"


@pytest.mark.parametrize("name", [*BUILT_IN, *LOCAL])
def test_known_harnesses(name: str) -> None:
    """Every documented harness and the two of ``--self-test`` may be named."""
    profile = {"name": "p", "dir": "./p"}
    assert problems_of({"harness": name, "model": "m", "profile": profile}) == []


def test_a_function_may_be_the_harness() -> None:
    """A Python function is labelled by its name."""
    kind = variant(harness=my_agent, model="m")
    assert problems_of(kind) == []
    assert (kind.label, kind.function) == ("python/my_agent/m", my_agent)


def test_a_registered_harness_may_be_named() -> None:
    """What the registry learns of is no unknown name any more."""
    name = f"mine-{uuid.uuid4().hex[:8]}"
    assert problems_of({"harness": name, "model": "m"}) == [f'harness "{name}" is not known']
    register_harness(name, object)
    assert problems_of({"harness": name, "model": "m"}) == []


def test_options_are_recorded_only_when_given() -> None:
    """``bare=False`` reaches Claude; not given means the harness's own default."""
    assert variant(harness="claude", model="m", bare=False).options == {"bare": False}
    assert variant(harness="claude", model="m").options == {}
    assert problems_of({"harness": "claude", "model": "m", "bare": False}) == []
