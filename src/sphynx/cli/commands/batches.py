"""``sphynx batches``: batches of a server."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from sphynx.errors import ExitCode

Json = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]
Id = Annotated[str, typer.Argument(metavar="ID")]


def list_(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most this many")] = 20,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List batches, newest first: id, status, passed of scored, started."""
    from sphynx.cli.remote import client, print_json, rows

    with client() as sphynx:
        found = list(islice(sphynx.evals.batches.iterate(limit=min(limit, 100)), limit))
    if json:
        print_json(found)
    else:
        rows(
            (one.id, one.status, f"{one.passed}/{one.scored}", f"{one.started_at:%Y-%m-%d %H:%M}")
            for one in found
        )
    return ExitCode.OK


def get(id: Id, json: Json = False, debug: Debug = False) -> int:
    """Show a batch: its runs, and why trials did not pass."""
    from sphynx.cli.remote import client, print_json
    from sphynx.cli.server_view import print_batch

    with client() as sphynx:
        found = sphynx.evals.batches.get(id)
    if json:
        print_json(found)
    else:
        print_batch(found)
    return ExitCode.OK


def cancel(id: Id, json: Json = False, debug: Debug = False) -> int:
    """Cancel a batch of one's own server: what had not ended is void."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json

    with client() as sphynx:
        found = sphynx.evals.batches.cancel(id)
    if json:
        print_json(found)
    stderr().line(f"batch {id} is cancelled")
    return ExitCode.OK


def link(id: Id, json: Json = False, debug: Debug = False) -> int:
    """Print a link that shows one batch of one's own server to whoever has it, for a week."""
    import os

    from sphynx.cli.out import stdout
    from sphynx.cli.remote import client, print_json
    from sphynx.settings.server import web_url

    with client() as sphynx:
        found = sphynx.evals.batches.link(id)
    if json:
        print_json(found)
    else:
        stdout().line(f"{web_url(os.environ)}{found.path}")
    return ExitCode.OK
