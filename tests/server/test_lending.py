"""Which of an organization's keys, logins and variables one trial is given, and what a start misses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from sphynx import case, judge, variant
from sphynx.compiler.profiles import Profile
from sphynx.server import lending
from sphynx.server.store import accounts, environment
from sphynx.server.store.database import Database, sqlite_url
from sphynx.server.store.migrate import migrate
from sphynx.server.vault import SealedError, Vault

LOGIN = json.dumps({"tokens": {"access_token": "at-0123456789abcdef"}})
VAULT = Vault([b"k" * 32])
SET = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GROQ_API_KEY", "MINE", "OTHERS")
CHOICES = {"yes": 1, "no": 0}
WORKER = {"SPHYNX_USER_MODEL": "groq/fast", "SPHYNX_CODEX_BASE_URL": "http://127.0.0.1:1/v1", "HOME": "/h"}
PERSON: Any = {"goal": "g", "prompt": "p"}
NUMBERS = count()
MINE = Profile(name="mine", files={}, variables=("MINE",))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = sqlite_url(tmp_path_factory.mktemp("lending") / "sphynx.db")
    migrate(url)
    return url


def in_store(url: str, what: Callable[[Any, str], Coroutine[Any, Any, Any]]) -> Any:
    """What ``what`` gives for an organization with variables and a ChatGPT login."""

    async def run() -> Any:
        database = Database(url)
        try:
            async with database.write() as connection:
                org = await accounts.create_org(connection, f"org-{next(NUMBERS)}", "Org")
                variables = [{"name": name, "value": f"value of {name}", "secret": True} for name in SET]
                await environment.set_variables(connection, org, variables, VAULT)
                await environment.add_subscription(connection, org, "chatgpt", LOGIN, VAULT)
                return await what(connection, org)
        finally:
            await database.aclose()

    return asyncio.run(run())


def given(
    url: str,
    one: Any,
    *,
    environ: dict[str, str] | None = None,
    profile: Profile | None = None,
    **of_case: Any,
) -> dict[str, str]:
    """What a trial is lent."""
    fields: Any = {"id": "one", "validate": [], **of_case}
    whole = case(**fields)
    found = in_store(
        url,
        lambda connection, org: lending.lent(
            connection, org, VAULT, environ or {}, variant=one, profile=profile, case=whole
        ),
    )
    return {name: value for name, value in found.items() if name not in WORKER}


def test_an_agent_gets_its_own_key_and_its_profiles_variables_and_no_other(store: str) -> None:
    claude = given(store, variant(harness="claude", model="m"), profile=MINE)
    assert claude == {"ANTHROPIC_API_KEY": "value of ANTHROPIC_API_KEY", "MINE": "value of MINE"}
    assert given(store, variant(harness="command", model="m")) == {}


def test_a_subscription_is_used_by_the_agent_a_judge_and_a_person_of_its_plan(store: str) -> None:
    login = {"SPHYNX_CODEX_AUTH_JSON": LOGIN}
    assert given(store, variant(harness="codex", model="m")) == login
    asked = judge(name="j", harness="codex", model="m", prompt="p", choices=CHOICES)
    claude = variant(harness="claude", model="m")
    assert given(store, claude, validate=[asked]) == {
        **login,
        "ANTHROPIC_API_KEY": "value of ANTHROPIC_API_KEY",
    }
    person = {**PERSON, "harness": "codex", "model": "m"}
    assert given(store, variant(harness="command", model="m"), user=person) == login


def test_judges_and_people_get_the_key_of_their_provider_and_the_servers_settings(store: str) -> None:
    command = variant(harness="command", model="m")
    assert given(store, command, environ=WORKER, user=PERSON) == {"GROQ_API_KEY": "value of GROQ_API_KEY"}
    asked = judge(name="j", provider="openai", model="m", prompt="p", choices=CHOICES)
    assert given(store, command, validate=[asked]) == {}
    served = given(store, command, validate=[asked], environ={"OPENAI_API_KEY": "of the server"})
    assert served == {"OPENAI_API_KEY": "of the server"}
    assert lending.server_settings(WORKER) == {name: WORKER[name] for name in WORKER if name != "HOME"}


def test_a_value_that_cannot_be_opened_stops_only_who_wants_it_and_is_named(store: str) -> None:
    async def lend(connection: Any, org: str) -> list[Any]:
        lost = [{"name": "OTHERS", "value": "lost value", "secret": True}]
        await environment.set_variables(connection, org, lost, Vault([b"x" * 32]))
        got: list[Any] = []
        for wants in (MINE, Profile(name="others", files={}, variables=("OTHERS",))):
            one: Any = {"variant": variant(harness="command", model="m"), "case": case(id="one", validate=[])}
            try:
                got.append(await lending.lent(connection, org, VAULT, {}, profile=wants, **one))
            except SealedError as error:
                got.append(error.message)
        return got

    fine, refused = in_store(store, lend)
    assert fine == {"MINE": "value of MINE"}
    assert refused.startswith("variable OTHERS: ")
    assert "lost value" not in refused


def test_what_is_missing_is_told_all_at_once_with_who_wants_it(store: str) -> None:
    """A login does for an agent; a judge without a key is told when it is asked, not here."""
    variants = [variant(harness=name, model="m") for name in ("codex", "qwen", "command")]
    asked = judge(name="j", provider="openai", model="m", prompt="p", choices=CHOICES)
    cases = [case(id="talks", user=PERSON, validate=[asked])]

    async def missing(connection: Any, org: str) -> list[str]:
        there = await lending.names_there(connection, org, {}, ["codex", "qwen"])
        return lending.missing_keys(variants, cases, there)

    told = in_store(store, missing)
    assert told == ["DASHSCOPE_API_KEY (harness qwen)", 'OPENAI_API_KEY (the person of case "talks")']
