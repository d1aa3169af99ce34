"""``sphynx cases`` and ``sphynx case run``: stored cases of a server."""

from __future__ import annotations

from itertools import islice
from typing import Annotated, Literal

import typer

from sphynx.errors import ExitCode

Json = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]
FailOn = Annotated[Literal["failures", "strict", "never"], typer.Option(help="The gate, as of sphynx eval")]
Id = Annotated[str, typer.Argument(metavar="ID")]


def list_(
    suite: Annotated[str | None, typer.Option(metavar="ID", help="Only cases of this suite")] = None,
    tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only cases with this tag")] = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="At most this many")] = 50,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List cases: id, suite, and per variant the newest run's passed of scored."""
    from sphynx.cli.remote import client, print_json, rows
    from sphynx.cli.server_view import label

    with client() as sphynx:
        found = list(islice(sphynx.evals.cases.iterate(suite=suite, tag=tag), limit))
    if json:
        print_json(found)
        return ExitCode.OK
    for case in found:
        results = [
            f"{label(one.variant)} {one.distribution.passed}/{one.distribution.scored}"
            for one in case.variants
        ]
        rows([(case.id, case.suite.id, ", ".join(results))])
    return ExitCode.OK


def get(id: Id, json: Json = False, debug: Debug = False) -> int:
    """Show a case: the variants it has run on, and its versions."""
    from sphynx.cli.out import stdout
    from sphynx.cli.remote import client, print_json
    from sphynx.cli.server_view import label

    with client() as sphynx:
        found = sphynx.evals.cases.get(id)
    if json:
        print_json(found)
        return ExitCode.OK
    out = stdout()
    out.line(f"{found.id} of {found.suite.id}")
    for one in found.variants:
        spread = one.distribution
        out.line(
            f"  {one.variant.id}  {label(one.variant)}  {spread.passed}/{spread.scored}  {one.runs} runs"
        )
    for version in found.versions:
        changed = ", ".join(version.changes) or "first version"
        out.line(f"  {version.created_at:%Y-%m-%d %H:%M}  {changed}  {version.author or ''}".rstrip())
    return ExitCode.OK


def run(
    id: Id,
    trials: Annotated[int, typer.Option(min=1, max=10, metavar="N", help="Trials per variant")] = 1,
    variant: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this variant; repeat for more")
    ] = None,
    fail_on: FailOn = "failures",
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Wait this long (default 1200); it then goes on")
    ] = None,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Print the started batch and leave")] = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Run a stored case again: its newest version, on every variant it has run on."""
    from sphynx.cli.remote import client, print_json
    from sphynx.cli.server_eval import settle

    with client() as sphynx:
        started = sphynx.evals.cases.run(id, trials=trials, variants=variant)
        if no_wait:
            print_json(started)
            return ExitCode.OK
        return settle(sphynx, started.id, json=json, fail_on=fail_on, timeout_s=timeout)
