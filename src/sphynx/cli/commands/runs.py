"""``sphynx runs``: runs of a server."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from sphynx.errors import ExitCode

Json = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]


def list_(
    case: Annotated[str, typer.Argument(metavar="CASE")],
    variant: Annotated[str | None, typer.Option(metavar="ID", help="Only on this variant")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most this many")] = 20,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List the runs of a case, newest first: id, variant, status, passed of scored, started."""
    from sphynx.cli.remote import client, print_json, rows
    from sphynx.cli.server_view import label

    with client() as sphynx:
        found = list(islice(sphynx.evals.runs.iterate(case, variant=variant), limit))
    if json:
        print_json(found)
        return ExitCode.OK
    for run in found:
        spread = run.distribution
        started = f"{run.started_at:%Y-%m-%d %H:%M}"
        rows([(run.id, label(run.variant), run.status, f"{spread.passed}/{spread.scored}", started)])
    return ExitCode.OK


def get(id: Annotated[str, typer.Argument(metavar="ID")], json: Json = False, debug: Debug = False) -> int:
    """Show a run and its trials."""
    from sphynx.cli.remote import client, print_json
    from sphynx.cli.server_view import print_run

    with client() as sphynx:
        found = sphynx.evals.runs.get(id)
    if json:
        print_json(found)
    else:
        print_run(found)
    return ExitCode.OK
