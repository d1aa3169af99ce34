"""``sphynx skill lint``: what is wrong with a skill and its evals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode

Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[PATH]...", help="Skills, folders of skills or evals files; none: this folder"),
]


def lint(
    paths: Paths = None,
    json: Annotated[bool, typer.Option("--json", help="Print the remarks as JSON")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail it too")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Say what is wrong with skills and their evals, with line and column. Runs nothing, needs no model.

    Exit codes: 0 nothing that keeps them from being used, 1 errors (with --strict: or warnings).
    """
    import json as json_module

    from sphynx.cli.out import stderr, stdout
    from sphynx.cli.render import figures
    from sphynx.cli.render.problems import relative
    from sphynx.importers import skill_lint

    out, err = stdout(), stderr()
    remarks, files = skill_lint.lint(paths or [Path()])
    cwd = Path.cwd()
    if json:
        rows = [{**one._asdict(), "file": relative(str(one.file.absolute()), cwd)} for one in remarks]
        out.line(json_module.dumps(rows, indent=2, ensure_ascii=False))
    else:
        tones = {"error": ("bold", "red"), "warning": ("yellow",), "note": ("dim",)}
        for one in remarks:
            place = f"{relative(str(one.file.absolute()), cwd)}:{one.line}:{one.column}"
            out.line(f"{place}: {out.style.paint(f'{one.level}:', *tones[one.level])} {one.message}")
    counts = [
        figures.plural(number, level)
        for level in ("error", "warning", "note")
        if (number := sum(one.level == level for one in remarks))
    ]
    err.line(f"{figures.plural(files, 'file')}: {', '.join(counts) or 'nothing to say'}")
    bad = {"error", "warning"} if strict else {"error"}
    return ExitCode.ERROR if any(one.level in bad for one in remarks) else ExitCode.OK
