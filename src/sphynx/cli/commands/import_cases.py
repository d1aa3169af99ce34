"""``sphynx eval import``: a case file becomes an eval file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode, SphynxError, UsageError

DEFAULT_AGENT = "codex/gpt-5.6-sol"


class Format(StrEnum):
    """What is imported."""

    evals_json = "evals-json"
    yaml = "yaml"


class Prose(StrEnum):
    """What becomes of an assertion in prose."""

    placeholder = "placeholder"
    judge = "judge"


def import_cases(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A JSON file; a YAML file or a folder of them")
    ],
    format: Annotated[Format, typer.Option("--format", help="Its format")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the suite there, not to standard output"),
    ] = None,
    prose: Annotated[
        Prose,
        typer.Option(help="placeholder: a failing check to be written; judge: a model decides (evals-json)"),
    ] = Prose.placeholder,
    judge: Annotated[
        str, typer.Option(metavar="AGENT/MODEL", help="With --prose judge: who decides")
    ] = DEFAULT_AGENT,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="With --prose judge: leave bad cases out and name them")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Turn an existing case file into a *_eval.py suite. The summary of what was converted goes to standard
    error."""
    from sphynx.cli.out import stderr, stdout
    from sphynx.importers import evals_json, template, yaml_cases
    from sphynx.importers.imported import summary

    if not path.exists():
        raise UsageError(f"no such file: {path}")
    if prose is Prose.judge:
        if format is not Format.evals_json:
            raise UsageError("--prose judge works with --format evals-json")
        from sphynx.importers.judged import judged

        text, told = judged(path, out, judge=judge, skip_invalid=skip_invalid)
    else:
        imported = (evals_json if format is Format.evals_json else yaml_cases).read(path)
        text, told = template.render(imported), [summary(imported.tally)]
    err = stderr()
    if out is None:
        stdout().line(text.rstrip())
    else:
        try:
            out.write_text(text, "utf-8")
        except OSError as error:
            raise SphynxError(f"cannot write {out}: {error.strerror or error}") from error
        err.line(f"wrote {out}")
    for line in told:
        err.line(line)
    return ExitCode.OK
