"""``sphynx env``: the variables agents are given on a server. Values come by prompt or stdin only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sphynx.errors import ExitCode, SphynxError

Json = Annotated[bool, typer.Option("--json", help="Print the server's answer as JSON")]
RemovedJson = Annotated[bool, typer.Option("--json", help="Print what was removed as JSON")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]
Personal = Annotated[bool, typer.Option("--personal", help="Only for you, not the organization")]
Name = Annotated[str, typer.Argument(metavar="NAME")]


def list_(json: Json = False, debug: Debug = False) -> int:
    """List what is set: name, preview, what it is for, scope. Values are never shown."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json, rows
    from sphynx.settings.names import used_by

    with client() as sphynx:
        found = sphynx.environment.list()
    if json:
        print_json(found)
    elif not found.variables and not found.subscriptions:
        stderr().line("nothing is set   sphynx env set NAME")
    else:
        rows((one.plan, "subscription", one.scope) for one in found.subscriptions)
        rows((one.name, one.preview, used_by(one.name), one.scope) for one in found.variables)
    return ExitCode.OK


def set_(
    name: Name,
    plain: Annotated[bool, typer.Option("--plain", help="Not a secret: its value may be shown")] = False,
    personal: Personal = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Store one variable. Its value is asked for in a terminal, else read from stdin."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json
    from sphynx.settings.names import used_by

    with client() as sphynx:
        value = _value(name)
        if not value:
            stderr().line(f"{name} is empty, nothing was sent")
            return ExitCode.OK
        stored = sphynx.environment.set(
            [{"name": name, "value": value, "secret": not plain}], scope=_scope(personal)
        )
    if json:
        print_json(stored)
    stderr().line(f"{name} is set, for {used_by(name)}")
    return ExitCode.OK


def import_(
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="An env file; none: stdin")] = None,
    personal: Personal = False,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """Store every NAME=value of an env file."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json
    from sphynx.settings.dotenv import parse
    from sphynx.settings.names import secret_by_default

    parsed = parse(_read(file))
    err = stderr()
    if parsed.empty:
        err.line(f"skipped, empty: {', '.join(parsed.empty)}")
    if not parsed.entries:
        err.line("no KEY=value lines were found, nothing was sent")
        return ExitCode.OK
    variables: list[dict[str, Any]] = [
        {"name": name, "value": value, "secret": secret_by_default(name, value)}
        for name, value in parsed.entries
    ]
    with client() as sphynx:
        stored = sphynx.environment.set(variables, scope=_scope(personal))
    if json:
        print_json(stored)
    count = len(variables)
    err.line(f"{count} {'variable is' if count == 1 else 'variables are'} set")
    return ExitCode.OK


def remove(name: Name, personal: Personal = False, json: RemovedJson = False, debug: Debug = False) -> int:
    """Remove one variable."""
    from sphynx.cli.out import stderr
    from sphynx.cli.remote import client, print_json

    with client() as sphynx:
        sphynx.environment.remove(name, scope=_scope(personal))
    if json:
        print_json({"name": name, "scope": _scope(personal)})
    stderr().line(f"{name} is removed")
    return ExitCode.OK


def _scope(personal: bool) -> Any:
    return "personal" if personal else "organization"


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return typer.prompt(name, hide_input=True, default="", show_default=False, err=True)
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    for ending in ("\r\n", "\n"):
        if text.endswith(ending):
            return text[: -len(ending)]
    return text


def _read(file: Path | None) -> str:
    if file is None:
        return sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    try:
        return file.read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise SphynxError(f"cannot read {file}: {error.strerror or error}") from error
