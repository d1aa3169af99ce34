"""``sphynx whoami``."""

from __future__ import annotations

from typing import Annotated

import typer

from sphynx.errors import ExitCode


def whoami(
    json: Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")] = False,
) -> int:
    """Show which organization SPHYNX_API_KEY acts for, and what it may do."""
    from sphynx.cli.out import stdout
    from sphynx.cli.remote import client, print_json
    from sphynx.cli.render.text import one_line

    with client() as sphynx:
        found = sphynx.whoami()
    if json:
        print_json(found)
        return ExitCode.OK
    out = stdout()
    organization, credential = found.organization, found.credential
    facts = [("organization", organization.name), ("organization slug", organization.slug)]
    facts += [("organization id", organization.id)]
    if credential.kind == "apiKey":
        facts += [("key", credential.name or "-"), ("key starts with", credential.start or "-")]
    facts += [("permissions", ", ".join(found.permissions) or "none")]
    for name, value in facts:
        out.line(f"{name:<19}{one_line(value)}")
    return ExitCode.OK
