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

    with client() as sphynx:
        found = sphynx.whoami()
    if json:
        print_json(found)
        return ExitCode.OK
    out = stdout()
    out.line(f"{found.organization.name} ({found.organization.slug})")
    credential = found.credential
    if credential.kind == "apiKey":
        out.line(f"API key {credential.name or ''} {credential.start or ''}…".replace("  ", " "))
    out.line(", ".join(found.permissions))
    return ExitCode.OK
