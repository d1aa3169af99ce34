"""``sphynx serve`` and ``sphynx worker``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sphynx.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from sphynx.sandboxes.docker.options import ContainerOptions

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
Image = Annotated[
    str | None, typer.Option("--image", metavar="NAME", help="Image of containers (default: sphynx-agent)")
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory of a container, 0: no limit (default: 4g)"),
]
Cpus = Annotated[
    float | None, typer.Option("--cpus", min=0, metavar="N", help="Processors, 0: no limit (default: 2)")
]
Pids = Annotated[
    int | None, typer.Option("--pids", min=0, metavar="N", help="Processes, 0: no limit (default: 2048)")
]
Reach = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="HOSTS",
        help="What a container may reach: open (default), none, hosts with commas between, or network:NAME",
    ),
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
    default_sandbox: Annotated[
        str | None,
        typer.Option(
            "--default-sandbox",
            metavar="NAME",
            help="Sandbox of variants that name none: docker or local (default: docker where it answers)",
        ),
    ] = None,
    image: Image = None,
    memory: Memory = None,
    cpus: Cpus = None,
    pids: Pids = None,
    network: Reach = None,
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
    from sphynx.sandboxes.docker import daemon
    from sphynx.sandboxes.docker.options import ContainerOptions
    from sphynx.server.configuration import Configuration
    from sphynx.server.logs import to_stderr
    from sphynx.server.serving import serve as run

    to_stderr(logging.DEBUG if debug else logging.INFO)
    if no_worker and database_url is None:
        raise UsageError("--no-worker needs --database-url", hint="workers share a Postgres database")
    containers = _containers(image, memory, cpus, pids, network)
    asked = default_sandbox == "docker" or containers != ContainerOptions()
    _check_default(default_sandbox, allow_local_sandbox)
    configuration = Configuration(
        data=(data or Configuration().data).expanduser().absolute(), database_url=database_url, host=host,
        port=port, jobs=jobs, allow_local_sandbox=allow_local_sandbox, isolate=not no_isolate,
        default_sandbox=default_sandbox,
        containers=containers if asked or daemon.address(os.environ) else None,
        # With workers elsewhere, whether theirs answer is not seen from here.
        no_containers=(lambda: "") if no_worker and asked else (lambda: daemon.why_not(os.environ)),
    )  # fmt: skip
    run(configuration, dict(os.environ), workers=not no_worker, say=stdout().line)
    return ExitCode.OK


def worker(
    data: Data = None,
    database_url: DatabaseUrl = None,
    jobs: Jobs = 4,
    image: Image = None,
    memory: Memory = None,
    cpus: Cpus = None,
    pids: Pids = None,
    network: Reach = None,
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
    containers = _containers(image, memory, cpus, pids, network)
    orders = Orders(str(folder), configuration.url, jobs, not no_isolate, containers)
    asyncio.run(work(orders, dict(os.environ), follow_stdin=False))
    return ExitCode.OK


def _containers(
    image: str | None, memory: str | None, cpus: float | None, pids: int | None, network: str | None
) -> ContainerOptions:
    from sphynx.sandboxes.docker import options

    given: dict[str, Any] = {
        **({"image": image} if image else {}),
        **({"memory": options.memory(memory)} if memory is not None else {}),
        **({"cpus": cpus or None} if cpus is not None else {}),
        **({"pids": pids or None} if pids is not None else {}),
        **({"network": options.network(network)} if network is not None else {}),
    }
    return options.ContainerOptions(**given)


def _check_default(name: str | None, local: bool) -> None:
    if name not in (None, "docker", "local"):
        raise UsageError(f'"{name}" is no sandbox of a server', hint="--default-sandbox docker or local")
    if name == "local" and not local:
        raise UsageError("the local sandbox is off", hint="--allow-local-sandbox")
