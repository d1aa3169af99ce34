"""Paths an author gives that are joined to a trial's workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sphynx.suite.fields import Fault, is_plain, show, units

LONGEST = 512


def segments(path: str) -> list[str]:
    """The named steps of a relative path, without ``.`` and empty ones."""
    return [step for step in path.split("/") if step not in ("", ".")]


def workspace_path(value: Any) -> Iterator[Fault]:
    """A path below the workspace: relative, at least one step, no ``..``, no NUL."""
    if not isinstance(value, str):
        yield Fault(f"must be text, not {show(value)}")
        return
    steps = segments(value)
    if value.startswith(("/", "~")) or "\\" in value or (steps and ":" in steps[0] and len(steps[0]) == 2):
        yield Fault(f"must be relative to the workspace, with forward slashes, not {show(value)}")
    elif ".." in steps:
        yield Fault(f"must stay inside the workspace, {show(value)} does not")
    elif not steps:
        yield Fault(f"must name something inside the workspace, not {show(value)}")
    elif not is_plain(value):
        yield Fault("must be valid Unicode without NUL characters")
    elif units(value) > LONGEST:
        yield Fault(f"must be at most {LONGEST} characters, this one has {units(value)}")


def cache_path(value: Any) -> Iterator[Fault]:
    """A workspace path that may be cached; ``.sphynx`` is ours."""
    faults = list(workspace_path(value))
    yield from faults
    if not faults and segments(value)[0] == ".sphynx":
        yield Fault("must not be below .sphynx, which belongs to the trial")


def file_path(value: Any) -> Iterator[Fault]:
    """A workspace path of one file."""
    faults = list(workspace_path(value))
    yield from faults
    if not faults and value.endswith(("/", "/.")):
        yield Fault(f"must name a file, {show(value)} names a folder")
