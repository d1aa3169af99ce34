"""``sphynx admin`` on secrets: logins come from standard input, a new master key seals everything anew."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from server.whole import SPHYNX, clean_env
from sphynx.errors import SphynxError
from sphynx.server.configuration import DATABASE
from sphynx.server.serving import only_server
from sphynx.server.store import accounts, environment
from sphynx.server.store.database import Database, sqlite_url
from sphynx.server.vault import FILE, Vault, open_vault

pytestmark = pytest.mark.server

TOKEN = "at-0123456789abcdefghij"
LOGIN = json.dumps({"tokens": {"access_token": TOKEN}})
VALUE = "value-0123456789abcdefghij"


def admin(data: Path, *args: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    env = {**clean_env(data.parent), **more}
    return subprocess.run(
        [SPHYNX, "admin", *args, "--data", str(data)], env=env, input=stdin, text=True,
        capture_output=True, timeout=60,
    )  # fmt: skip


def secrets(data: Path, vault: Vault, *, store: bool = False) -> Any:
    """The organization's variable and its login, opened with a vault."""

    async def read() -> Any:
        database = Database(sqlite_url(data / DATABASE))
        try:
            async with database.write() as connection:
                org = await accounts.org_id_of(connection, "acme")
                if store:
                    given = [{"name": "MINE", "value": VALUE, "secret": True}]
                    await environment.set_variables(connection, org, given, vault)
                values = await environment.values(connection, org, vault)
                return values, await environment.subscription(connection, org, "chatgpt", vault)
        finally:
            await database.aclose()

    return asyncio.run(read())


def test_a_rotated_master_key_opens_what_the_old_one_sealed_and_the_old_one_opens_nothing(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    assert admin(data, "create-org", "acme").returncode == 0
    added = admin(data, "add-subscription", "codex", "--org", "acme", stdin=LOGIN)
    assert added.returncode == 0, added.stderr
    old = Vault([base64.b64decode((data / FILE).read_text())])
    read_before = open_vault(data, {})
    assert secrets(data, old, store=True) == ({"MINE": VALUE}, LOGIN)
    done = admin(data, "rotate-key")
    assert (done.returncode, "2 secrets" in done.stdout + done.stderr) == (0, True), done
    assert secrets(data, open_vault(data, {})) == ({"MINE": VALUE}, LOGIN)
    assert secrets(data, read_before) == ({"MINE": VALUE}, LOGIN), "a worker reads the new key itself"
    with pytest.raises(SphynxError, match="master key this server does not have"):
        secrets(data, old)
    kept = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert not [text for text in (TOKEN, VALUE) if text.encode() in kept]
    assert TOKEN not in added.stdout + added.stderr + done.stdout + done.stderr


def test_a_master_key_is_not_rotated_under_a_running_server_nor_with_a_value_it_cannot_open(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    assert admin(data, "create-org", "acme").returncode == 0
    lost = Vault([b"x" * 32])
    open_vault(data, {})
    key = (data / FILE).read_bytes()
    with only_server(data):
        refused = admin(data, "rotate-key")
        assert (refused.returncode, f"pid {os.getpid()}" in refused.stderr) == (1, True), refused
        assert "stop it" in refused.stderr
    with suppress(SphynxError):
        secrets(data, lost, store=True)
    with pytest.raises(SphynxError, match="variable MINE: "):
        secrets(data, open_vault(data, {}))
    refused = admin(data, "rotate-key")
    assert (refused.returncode, "variable MINE: " in refused.stderr) == (1, True), refused
    assert (data / FILE).read_bytes() == key


def test_a_store_is_its_owners_and_who_makes_one_by_a_command_is_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    made = admin(data, "create-org", "acme")
    assert (made.returncode, f"a new one was made: {data / DATABASE}" in made.stderr) == (0, True), made
    again = admin(data, "create-org", "other")
    assert (again.returncode, again.stderr) == (0, "")
    assert {path.stat().st_mode & 0o777 for path in data.glob(f"{DATABASE}*")} == {0o600}
    (data / DATABASE).chmod(0o644)
    assert admin(data, "list-keys").returncode == 0
    assert (data / DATABASE).stat().st_mode & 0o777 == 0o600


def test_a_backup_is_of_the_store_that_is_used_and_names_the_key_that_is_used(tmp_path: Path) -> None:
    data = tmp_path / ".sphynx" / "server"
    assert admin(data, "create-org", "acme").returncode == 0
    copied = admin(data, "backup", str(tmp_path / "a.db"))
    assert str(data / FILE) in copied.stdout
    copied = admin(data, "backup", str(tmp_path / "b.db"), SPHYNX_MASTER_KEY="set")
    assert (FILE in copied.stdout, "SPHYNX_MASTER_KEY" in copied.stdout) == (False, True)
    env = {**clean_env(tmp_path), "SPHYNX_DATABASE_URL": "postgresql://nobody@127.0.0.1/x"}
    args = [SPHYNX, "admin", "backup", str(tmp_path / "c.db")]
    refused = subprocess.run(args, env=env, text=True, capture_output=True, timeout=60)
    assert (refused.returncode, "pg_dump" in refused.stderr) == (1, True), refused
    assert not (tmp_path / "c.db").exists()


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ("codex", ""),
        ("codex", "no json"),
        ("codex", "[]"),
        ("codex", '{"a": 1}'),
        ("codex", '{"tokens": {"access_token": ""}}'),
        ("opencode", LOGIN),
        ("pi", "{}"),
    ],
)
def test_what_is_no_login_is_refused(tmp_path: Path, plan: str, text: str) -> None:
    data = tmp_path / "data"
    assert admin(data, "create-org", "acme").returncode == 0
    refused = admin(data, "add-subscription", plan, "--org", "acme", stdin=text)
    assert refused.returncode == 1
    assert TOKEN not in refused.stderr
    kept = {"openai": {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}}
    if plan != "codex":
        good = admin(data, "add-subscription", plan, "--org", "acme", stdin=json.dumps(kept))
        assert good.returncode == 0, good.stderr
    assert "Traceback" not in refused.stderr
