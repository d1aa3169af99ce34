"""A skill's report as JSON, and the JSON Schema of it. Keys are spelled as in the viewers' own files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from sphynx.results.skills import SkillReport


@dataclass(frozen=True, slots=True)
class SkillReports:
    """The file: a format number and one report per skill."""

    format: Literal[1]
    skills: tuple[SkillReport, ...]


def to_json(reports: Iterable[SkillReport]) -> dict[str, Any]:
    """Plain values of the reports."""
    return TypeAdapter(SkillReports).dump_python(SkillReports(1, tuple(reports)), mode="json")


def json_schema() -> dict[str, Any]:
    """The schema every file of ``to_json`` fits."""
    return TypeAdapter(SkillReports).json_schema()
