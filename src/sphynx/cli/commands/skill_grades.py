"""``sphynx skill grades``: what the grading files of an existing skill workspace say, counted anew."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sphynx.errors import ExitCode

if TYPE_CHECKING:
    from sphynx.importers.gradings import Grades, Grading


def grades(
    path: Annotated[
        Path,
        typer.Argument(metavar="PATH", help="An iteration folder of a skill workspace, or one grading.json"),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the grades as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Print each criterion of the `grading.json` files in PATH with k of n per arm, and each arm's pass rate.

    Rates are counted from the criteria; where a file's own summary says something else, that is told.
    """
    from sphynx.cli.out import stderr, stdout
    from sphynx.cli.render import figures
    from sphynx.cli.render.text import one_line
    from sphynx.importers import gradings

    found = gradings.read(path)
    out, err = stdout(), stderr()
    if json:
        out.line(json_module.dumps(_wire(found), indent=2, ensure_ascii=False))
    else:
        for line in _table(found.gradings):
            out.line(line)
    for one in found.differences:
        err.line(one_line(f"{one.file}: {one.field}: {one.message}"))
    files = figures.plural(len(found.gradings), "run")
    err.line(f"{files}: {figures.plural(len(found.differences), 'difference')} from what the files say")
    return ExitCode.OK


def _arms(found: tuple[Grading, ...]) -> list[str | None]:
    from sphynx.importers.gradings import ARMS

    return [arm for arm in (*ARMS, None) if any(one.arm == arm for one in found)]


def _counts(found: tuple[Grading, ...]) -> dict[str, dict[str, dict[str | None, list[bool | None]]]]:
    """Outcomes by case, criterion and arm, in the order of the files."""
    counts: dict[str, dict[str, dict[str | None, list[bool | None]]]] = {}
    for one in found:
        rows = counts.setdefault(one.case, {})
        for criterion in one.criteria:
            rows.setdefault(criterion.text, {}).setdefault(one.arm, []).append(criterion.passed)
    return counts


def _count(outcomes: list[bool | None] | None) -> str:
    decided = [one for one in outcomes or () if one is not None]
    return f"{sum(decided)}/{len(decided)}" if decided else "-"


def _table(found: tuple[Grading, ...]) -> list[str]:
    from sphynx.cli.render import figures
    from sphynx.cli.render.text import one_line, pad, width
    from sphynx.importers.gradings import pass_rate

    arms = _arms(found)
    heads = [(arm or "passed").removesuffix("_skill") for arm in arms]
    rows: list[tuple[list[str], str]] = []
    for case, criteria in _counts(found).items():
        rows.append(([""] * len(arms), one_line(case)))
        rows += [
            ([_count(outcomes.get(arm)) for arm in arms], "  " + one_line(text))
            for text, outcomes in criteria.items()
        ]
    rates = [pass_rate(found, arm) for arm in arms]
    last = ["-" if rate is None else figures.percent(rate) for rate in rates]
    lines = [(heads, "criterion"), *rows, (last, "pass rate, mean of runs")]
    widths = [max(width(cells[at]) for cells, _ in lines) for at in range(len(arms))]
    return [
        "  ".join([*(pad(cell, cells_wide) for cell, cells_wide in zip(cells, widths, strict=True)), text])
        for cells, text in lines
    ]


def _wire(found: Grades) -> dict[str, Any]:
    from sphynx.importers.gradings import pass_rate

    arms = _arms(found.gradings)
    return {
        "arms": [
            {
                "arm": arm,
                "runs": sum(one.arm == arm for one in found.gradings),
                "passRate": pass_rate(found.gradings, arm),
            }
            for arm in arms
        ],
        "criteria": [
            {
                "case": case,
                "text": text,
                "arms": [
                    {
                        "arm": arm,
                        "passed": outcomes.count(True),
                        "total": len(outcomes) - outcomes.count(None),
                        "notDecided": outcomes.count(None),
                    }
                    for arm, outcomes in by_arm.items()
                ],
            }
            for case, rows in _counts(found.gradings).items()
            for text, by_arm in rows.items()
        ],
        "runs": [
            {
                "file": str(one.file),
                "case": one.case,
                "arm": one.arm,
                "run": one.run,
                "passed": one.passed,
                "total": one.total,
                "passRate": one.pass_rate,
            }
            for one in found.gradings
        ],
        "differences": [{**one._asdict(), "file": str(one.file)} for one in found.differences],
    }
