"""``sphynx serve`` and ``sphynx worker``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode, UsageError

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Where everything is kept (default: ~/.sphynx/server)"),
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database-url",
        envvar="SPHYNX_DATABASE_URL",
        metavar="URL",
        help="A Postgres database instead of a file",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Trials at a time")]
NoIsolate = Annotated[
    bool, typer.Option("--no-isolate", help="Run local trials without bubblewrap even where it works")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]


def serve(
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0: any free port")] = 3003,
    data: Data = None,
    database_url: DatabaseUrl = None,
    jobs: Jobs = 4,
    allow_local_sandbox: Annotated[
        bool,
        typer.Option("--allow-local-sandbox", help="Run agents and checks on this machine itself"),
    ] = False,
    no_isolate: NoIsolate = False,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Run no trials here: sphynx worker does, elsewhere")
    ] = False,
    debug: Debug = False,
) -> int:
    """Run a server of one's own. The first start prints an API key, once."""
    from sphynx.cli.extras import need_server

    need_server("sphynx serve")
    import logging

    from sphynx.cli.out import stdout
    from sphynx.server.configuration import Configuration
    from sphynx.server.logs import to_stderr
    from sphynx.server.serving import serve as run

    to_stderr(logging.DEBUG if debug else logging.INFO)
    if no_worker and database_url is None:
        raise UsageError("--no-worker needs --database-url", hint="workers share a Postgres database")
    configuration = Configuration(
        data=(data or Configuration().data).expanduser().absolute(), database_url=database_url, host=host,
        port=port, jobs=jobs, allow_local_sandbox=allow_local_sandbox, isolate=not no_isolate,
    )  # fmt: skip
    run(configuration, dict(os.environ), workers=not no_worker, say=stdout().line)
    return ExitCode.OK


def worker(
    data: Data = None,
    database_url: DatabaseUrl = None,
    jobs: Jobs = 4,
    no_isolate: NoIsolate = False,
    debug: Debug = False,
) -> int:
    """Run trials for a server that keeps its data in Postgres. Needs the server's master key."""
    from sphynx.cli.extras import need_server

    need_server("sphynx worker")
    import asyncio
    import logging

    from sphynx.server.configuration import Configuration
    from sphynx.server.execution.worker import Orders, work
    from sphynx.server.logs import to_stderr
    from sphynx.server.serving import prepare

    if database_url is None:
        raise UsageError("a worker needs --database-url", hint="with SQLite, sphynx serve runs the trials")
    to_stderr(logging.DEBUG if debug else logging.INFO)
    folder = (data or Configuration().data).expanduser().absolute()
    configuration = Configuration(data=folder, database_url=database_url)
    prepare(configuration)
    orders = Orders(str(folder), configuration.url, jobs, not no_isolate)
    asyncio.run(work(orders, dict(os.environ), follow_stdin=False))
    return ExitCode.OK
