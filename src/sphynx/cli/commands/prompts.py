"""``sphynx prompts``: prompts of a server. Their text comes from a file or stdin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sphynx.errors import ExitCode, SphynxError

Json = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]
Id = Annotated[str, typer.Argument(metavar="ID")]
File = Annotated[Path | None, typer.Option("--file", metavar="FILE", help="The text; none: stdin")]
Message = Annotated[str | None, typer.Option("--message", "-m", metavar="TEXT", help="What changed")]


def list_(json: Json = False, debug: Debug = False) -> int:
    """List prompts: id, newest version, production version, name."""
    from sphynx.cli.remote import client, print_json, rows

    with client() as sphynx:
        found = sphynx.prompts.list()
    if json:
        print_json(found)
    else:
        rows((one.id, one.latest_version, one.production_version or "-", one.name) for one in found.data)
    return ExitCode.OK


def get(
    id: Id,
    channel: Annotated[str | None, typer.Option(metavar="NAME", help="What this channel points at")] = None,
    version: Annotated[int | None, typer.Option(min=1, metavar="N", help="This version")] = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Print a prompt's text."""
    from sphynx.cli.out import stdout
    from sphynx.cli.remote import client, print_json

    with client() as sphynx:
        found = sphynx.prompts.get(id, channel=channel, version=version)
    if json:
        print_json(found)
    else:
        stdout().line(found.content)
    return ExitCode.OK


def create(
    id: Id,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Its name; none: the id")] = None,
    file: File = None,
    message: Message = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Create a prompt."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json

    with client() as sphynx:
        made = sphynx.prompts.create(id, name=name or id, content=_text(file), message=message)
    if json:
        print_json(made)
    stderr().line(f"{id} is created, version {made.version}")
    return ExitCode.OK


def update(
    id: Id, file: File = None, message: Message = None, json: Json = False, debug: Debug = False
) -> int:
    """Add a version to a prompt. Channels stay where they are."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json

    with client() as sphynx:
        made = sphynx.prompts.update(id, content=_text(file), message=message)
    if json:
        print_json(made)
    stderr().line(f"{id} has version {made.version}   sphynx prompts promote {id} production {made.version}")
    return ExitCode.OK


def promote(
    id: Id,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL")],
    version: Annotated[int, typer.Argument(metavar="VERSION")],
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Point a channel at a version."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json

    with client() as sphynx:
        done = sphynx.prompts.promote(id, channel=channel, version=version)
    if json:
        print_json(done)
    stderr().line(f"{channel} of {id} is version {version}")
    return ExitCode.OK


def _text(file: Path | None) -> str:
    try:
        data = sys.stdin.buffer.read() if file is None else file.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise SphynxError(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise SphynxError("the text is not UTF-8") from None
