"""``sphynx admin``: organizations, keys and secrets of a server of one's own, on its store directly."""

from __future__ import annotations

import asyncio
import json as encoder
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sphynx.cli.extras import need_server
from sphynx.errors import ExitCode, UsageError

Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="The server's folder")]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database-url", envvar="SPHYNX_DATABASE_URL", metavar="URL", help="Its database"),
]
Org = Annotated[str, typer.Option("--org", metavar="SLUG", help="The organization")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors")]
_PLANS = {"codex": "chatgpt", "chatgpt": "chatgpt", "opencode": "opencode", "pi": "pi"}
_LOGINS = {
    "chatgpt": ('"tokens" with an "access_token"', "~/.codex/auth.json"),
    "opencode": ('provider with a "type" and a credential', "~/.local/share/opencode/auth.json"),
    "pi": ('provider with a "type" and a credential', "~/.pi/agent/auth.json"),
}
_CREDENTIALS = ("access", "refresh", "key", "token")


def create_org(
    slug: Annotated[str, typer.Argument(metavar="SLUG")],
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="Its name; none: the slug")] = None,
    data: Data = None,
    database_url: DatabaseUrl = None,
    debug: Debug = False,
) -> int:
    """Make an organization."""
    need_server("sphynx admin")
    from sphynx.server.store import accounts

    org_id = _in_store(data, database_url, lambda connection: accounts.create_org(connection, slug, name))
    _say(org_id)
    return ExitCode.OK


def create_key(
    org: Org = "default",
    name: Annotated[str, typer.Option(metavar="TEXT", help="What the key is for")] = "key",
    permission: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this; repeat for more. None: everything")
    ] = None,
    expires: Annotated[int | None, typer.Option(min=1, metavar="DAYS", help="Stops working after")] = None,
    data: Data = None,
    database_url: DatabaseUrl = None,
    debug: Debug = False,
) -> int:
    """Make an API key and print it. It cannot be shown again."""
    need_server("sphynx admin")
    from sphynx.server.identifiers import now_ms
    from sphynx.server.store import accounts

    expires_at = None if expires is None else now_ms() + expires * 86_400_000

    async def make(connection: Any) -> str:
        org_id = await accounts.org_id_of(connection, org)
        return await accounts.create_key(connection, org_id, name, permission, expires_at)

    _say(_in_store(data, database_url, make))
    return ExitCode.OK


def list_keys(
    json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
    data: Data = None,
    database_url: DatabaseUrl = None,
    debug: Debug = False,
) -> int:
    """List API keys: id, organization, name, first characters, state."""
    need_server("sphynx admin")
    from sphynx.server.identifiers import iso
    from sphynx.server.store import accounts

    for key in (found := _in_store(data, database_url, accounts.list_keys)):
        if not json:
            state = f"revoked {iso(key['revoked_at'])}" if key["revoked_at"] else "works"
            _say("\t".join([key["id"], key["slug"], key["name"], f"{key['start']}…", state]))
    if json:
        _say(encoder.dumps(found, indent=2))
    return ExitCode.OK


def revoke_key(
    id: Annotated[str, typer.Argument(metavar="ID")],
    data: Data = None,
    database_url: DatabaseUrl = None,
    debug: Debug = False,
) -> int:
    """Stop a key from working, within 5 seconds."""
    need_server("sphynx admin")
    from sphynx.server.store import accounts

    _in_store(data, database_url, lambda connection: accounts.revoke_key(connection, id))
    _say(f"{id} is revoked")
    return ExitCode.OK


def add_subscription(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="codex, opencode or pi")],
    org: Org = "default",
    data: Data = None,
    database_url: DatabaseUrl = None,
    debug: Debug = False,
) -> int:
    """Store an agent's login: its auth.json on stdin."""
    need_server("sphynx admin")
    from sphynx.server.store import accounts, environment
    from sphynx.server.vault import open_vault

    if plan not in _PLANS:
        raise UsageError(f'there is no plan "{plan}"', hint="codex, opencode or pi")
    text = sys.stdin.read()
    try:
        login = encoder.loads(text) if len(text) <= 65_536 else None
    except (ValueError, RecursionError):
        login = None
    if not isinstance(login, dict):
        raise UsageError("a login is a JSON object of at most 65,536 characters", hint="< ~/.codex/auth.json")
    if not _is_login(_PLANS[plan], login):
        wanted, file = _LOGINS[_PLANS[plan]]
        raise UsageError(
            f"this is no login of {plan}: it has no {wanted}", hint=f"sign in there, then < {file}"
        )
    vault = open_vault(_folder(data), os.environ)

    async def add(connection: Any) -> str:
        org_id = await accounts.org_id_of(connection, org)
        return await environment.add_subscription(connection, org_id, _PLANS[plan], text, vault)

    _say(_in_store(data, database_url, add))
    return ExitCode.OK


def _is_login(plan: str, login: dict[str, Any]) -> bool:
    if plan == "chatgpt":
        tokens = login.get("tokens")
        return isinstance(tokens, dict) and _filled(tokens.get("access_token"))
    return bool(login) and all(
        isinstance(one, dict)
        and _filled(one.get("type"))
        and any(_filled(one.get(name)) for name in _CREDENTIALS)
        for one in login.values()
    )


def _filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def rotate_key(data: Data = None, database_url: DatabaseUrl = None, debug: Debug = False) -> int:
    """Make a new master key and seal every secret with it, while no server runs in the folder."""
    need_server("sphynx admin")
    from sphynx.server import vault
    from sphynx.server.serving import only_server
    from sphynx.server.store import environment

    folder = _folder(data)
    opened = vault.open_vault(_made(folder), os.environ)
    if os.environ.get(vault.VARIABLE, "").strip():
        count = _in_store(data, database_url, lambda connection: environment.reseal(connection, opened))
    else:
        # A server goes on sealing with the key it read, so the old one is forgotten only where none runs.
        with only_server(folder, hint="stop it, rotate the key, start it again"):
            _in_store(data, database_url, lambda connection: environment.open_all(connection, opened))
            newer = vault.add_key(folder, os.environ)
            count = _in_store(data, database_url, lambda connection: environment.reseal(connection, newer))
            vault.keep_first(folder)
    _say(f"{count} secrets are sealed with the new key")
    return ExitCode.OK


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes")],
    data: Data = None,
    debug: Debug = False,
) -> int:
    """Copy a SQLite store to one file while the server runs. The master key is not in it."""
    need_server("sphynx admin")
    import sqlite3

    from sphynx.server.configuration import DATABASE
    from sphynx.server.vault import FILE, VARIABLE

    if data is None and os.environ.get("SPHYNX_DATABASE_URL", "").strip():
        raise UsageError(
            "SPHYNX_DATABASE_URL names the store, and this copies SQLite files only",
            hint="pg_dump for Postgres, or --data DIR for the SQLite store of a folder",
        )
    source = _folder(data) / DATABASE
    if not source.is_file():
        raise UsageError(f"there is no database in {source.parent}", hint="for Postgres, use pg_dump")
    if file.exists():
        raise UsageError(f"{file} is there already", hint="name a new file")
    with sqlite3.connect(source) as store, sqlite3.connect(file) as copy:
        store.backup(copy)
    copy.close()
    store.close()
    file.chmod(0o600)
    given = os.environ.get(VARIABLE, "").strip()
    _say(f"{file}: keep {VARIABLE if given else source.parent / FILE} for it, but not beside it")
    return ExitCode.OK


def _folder(data: Path | None) -> Path:
    from sphynx.server.configuration import Configuration

    return (data or Configuration().data).expanduser().absolute()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _in_store(data: Path | None, database_url: str | None, what: Callable[[Any], Awaitable[Any]]) -> Any:
    """Do ``what`` in one transaction of the store, which is made when it is not there yet."""
    folder = _folder(data)
    from sphynx.server.configuration import DATABASE, Configuration
    from sphynx.server.serving import prepare
    from sphynx.server.store.database import Database

    configuration = Configuration(data=folder, database_url=database_url)
    path = None if database_url else folder / DATABASE
    made = path is not None and not path.exists()
    prepare(configuration)
    if made:
        _note(f"note: there was no store, a new one was made: {path}; a server uses it with --data {folder}")

    async def run() -> Any:
        database = Database(configuration.url)
        try:
            async with database.write() as connection:
                return await what(connection)
        finally:
            await database.aclose()

    return asyncio.run(run())


def _say(text: str) -> None:
    from sphynx.cli.out import stdout

    stdout().line(text)


def _note(text: str) -> None:
    from sphynx.cli.out import stderr

    stderr().line(text)
