"""``sphynx doctor``: what this machine can do."""

from __future__ import annotations

import json as json_module
from typing import Annotated

import typer

from sphynx.errors import ExitCode


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Say what this machine can do: python, git, node, bubblewrap, docker, keys by name, disk used,
    and of each agent which versions are installed, the node it wants and whether its key is there.

    Exit code 1 when something is missing that every run needs.
    """
    from dataclasses import asdict

    from sphynx.cli.machine import look
    from sphynx.cli.out import stdout
    from sphynx.cli.render.doctor import finding_lines

    findings = look()
    out = stdout()
    if json:
        out.line(json_module.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        out.write("".join(line + "\n" for line in finding_lines(findings, out.style)))
    return ExitCode.ERROR if any(finding.state == "missing" for finding in findings) else ExitCode.OK
