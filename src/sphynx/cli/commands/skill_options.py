"""The options of ``sphynx eval`` that are for skills."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Use(StrEnum):
    """Whether the agent is told to use the skill."""

    available = "available"
    forced = "forced"


Agent = Annotated[
    list[str] | None,
    typer.Option(metavar="HARNESS/MODEL", help="An agent that runs every arm of a skill; repeat for more"),
]
Arms = Annotated[str, typer.Option(metavar="LIST", help="What is compared: with, without, old")]
OldRef = Annotated[str | None, typer.Option(metavar="REF", help="The git ref of the arm old")]
SkillUse = Annotated[
    Use,
    typer.Option(help="forced: the agent is told to use the skill"),
]
Judge = Annotated[
    str | None,
    typer.Option(metavar="HARNESS/MODEL", help="Who decides criteria in prose (default: the first agent)"),
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N cases of a skill")]
Sample = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Only N cases of a skill, always the same"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask above 100 trials of skills")]
Markdown = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report on skills as Markdown")]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report on skills as JSON")]
Benchmark = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write grading.json and benchmark.json files"),
]
Baseline = Annotated[
    str | None,
    typer.Option(metavar="FILE|BATCH", help="Fail when a criterion that held there no longer does"),
]
