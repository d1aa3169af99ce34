"""What a trial gets of its organization's environment, and what a start finds missing there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from sqlalchemy.ext.asyncio import AsyncConnection

from sphynx.compiler.profiles import Profile
from sphynx.engine.other_agents import keys, other_harnesses
from sphynx.engine.people import needs_of_case
from sphynx.people.routing import MODEL_NAME
from sphynx.registry import load_harness
from sphynx.server.store import environment
from sphynx.server.vault import Vault
from sphynx.suite import Case, Variant

PLANS = {"codex": "chatgpt", "opencode": "opencode", "pi": "pi"}
"""The subscription a harness can sign in with."""

FALLBACK = "OPENAI_API_KEY"
"""The key that the server's own environment gives to who has none."""

_ADDRESS = re.compile(r"SPHYNX_[A-Z]+_BASE_URL")


def server_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What the server's environment says for every organization: who plays people, where providers are."""
    names = [name for name in environ if name == MODEL_NAME or _ADDRESS.fullmatch(name)]
    return {name: environ[name] for name in names}


def login_name(harness: str) -> str:
    """The variable in which a harness finds its subscription's login."""
    return f"SPHYNX_{harness.upper()}_AUTH_JSON"


async def names_there(
    connection: AsyncConnection, org_id: str, environ: Mapping[str, str], harnesses: Iterable[str]
) -> dict[str, str]:
    """What trials would find, every secret hidden: enough to see what is missing."""
    there = dict.fromkeys(await environment.names_set(connection, org_id), "set")
    if environ.get(FALLBACK, "").strip():
        there.setdefault(FALLBACK, "set")
    for harness in set(harnesses) & set(PLANS):
        if await environment.has_subscription(connection, org_id, PLANS[harness]):
            there[login_name(harness)] = "set"
    return {**server_settings(environ), **there}


async def lent(
    connection: AsyncConnection,
    org_id: str,
    vault: Vault,
    environ: Mapping[str, str],
    *,
    variant: Variant,
    profile: Profile | None,
    case: Case,
) -> dict[str, str]:
    """What one trial is given: its harness's key, its profile's variables, the keys of who judges and who
    plays the person. Nothing else of the organization's leaves the store.
    """
    names = await environment.names_set(connection, org_id)
    values = {FALLBACK: environ[FALLBACK]} if environ.get(FALLBACK, "").strip() else {}
    there = {**values, **dict.fromkeys(names, "set")}
    for harness in {variant.harness, *other_harnesses(case)} & set(PLANS):
        login = await environment.subscription(connection, org_id, PLANS[harness], vault)
        if login is not None:
            values[login_name(harness)] = there[login_name(harness)] = login
    settings = server_settings(environ)
    pick = getattr(load_harness(variant.harness), "keys", lambda variant, env: {})
    everything = {**there, **settings}
    wanted = {*(profile.variables if profile else ()), *pick(variant, everything), *keys(case, everything)}
    values.update(await environment.values(connection, org_id, vault, wanted & names))
    return {**settings, **{name: values[name] for name in wanted if name in values}}


def missing_keys(variants: Iterable[Variant], cases: Iterable[Case], there: Mapping[str, str]) -> list[str]:
    """Who has no key: agents and the models that play people, each as ``NAME (who wants it)``.

    A judge without one is not missed here: it fails when a trial reaches it.
    """
    found = dict.fromkeys(_missing(variants, cases, there))
    return [f"{name} ({who})" for name, who in found]


def _missing(
    variants: Iterable[Variant], cases: Iterable[Case], there: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for one in variants:
        for need in getattr(load_harness(one.harness), "needs", lambda variant, env: ())(one, there):
            if not need["found"]:
                yield need["name"], f"harness {one.harness}"
    for case in cases:
        for need in needs_of_case(case, there):
            if not need.found:
                yield need.name, f'the person of case "{case.id}"'
