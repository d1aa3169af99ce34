"""Agents and models beside the one under test: those that play people, those that judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sphynx.compiler.compiled import CompiledVariant
from sphynx.contracts import Harness, HarnessSetup
from sphynx.engine.credentials import harness_keys, key_secrets
from sphynx.engine.options import LocalPlan, Need
from sphynx.errors import SphynxError, StageError
from sphynx.people.routing import configured, route
from sphynx.providers.table import PROVIDERS, Provider
from sphynx.registry import load_harness
from sphynx.suite import variant
from sphynx.suite.cases import Case
from sphynx.suite.judges import JudgeSpec
from sphynx.suite.people import SimulatedUser


@dataclass(frozen=True, slots=True)
class Spend:
    """Tokens one asking took; ``usage`` is ``None`` when nobody said how many."""

    model: str
    usage: Any


def missing_of(plan: LocalPlan) -> list[Need]:
    """Every variable without which no trial can start, also of agents that play people, each once."""
    return _each_once([*_missing(plan, needs_of_person), *plan.missing])


def missing_of_judges(plan: LocalPlan) -> list[Need]:
    """What judges lack: no reason not to start, as documented, but their trials will be void."""
    return _each_once(_missing(plan, needs_of_judges))


def _missing(plan: LocalPlan, needs: Callable[[Case, Mapping[str, str]], Iterator[Need]]) -> list[Need]:
    cases = [one.case for suite in plan.suites if suite.remaining for one in suite.cases]
    return [need for case in cases for need in needs(case, plan.options.env) if not need.found]


def _each_once(needs: Sequence[Need]) -> list[Need]:
    return list({need.name: need for need in needs}.values())


def agent(
    harness: str,
    model: str,
    *,
    env: Mapping[str, str],
    timeout_ms: int,
    show: Callable[[str], None] | None,
    who: str,
) -> tuple[Harness, HarnessSetup]:
    """A harness with its own key and nothing of the trial's. ``StageError`` (stage and cause ``who``) names
    what is missing."""
    plain = variant(harness=harness, model=model)
    try:
        factory = load_harness(harness)
    except SphynxError as error:
        raise StageError(error.message, stage=who, cause=who) from error
    for need in getattr(factory, "needs", lambda variant, env: ())(plain, env):
        if not need["found"]:
            text = f"{need['name']} is not set: {need['why']}"
            raise StageError(text, stage=who, cause=who, hint=f"export {need['name']}=...")
    setup = HarnessSetup(
        model=model,
        system_prompt=None,
        run=None,
        env={},
        timeout_ms=timeout_ms,
        keys=_keys(harness, model, env),
        show=show,
    )
    return factory(), setup


def other_harnesses(case: Case) -> Iterator[str]:
    """The harnesses that play a case's person or judge it."""
    if isinstance(case.user, SimulatedUser) and case.user.harness:
        yield case.user.harness
    yield from (judge.harness for judge in case.judges if judge.harness)


def needs_of_person(case: Case, env: Mapping[str, str]) -> Iterator[Need]:
    """The keys of the agent that plays a case's person."""
    if isinstance(case.user, SimulatedUser) and case.user.harness:
        harness, model = case.user.harness, case.user.model or ""
        for need in _harness_needs(harness, model, env):
            yield Need(need["name"], need["found"], f"{harness}/{model} plays people")


def needs_of_judges(case: Case, env: Mapping[str, str]) -> Iterator[Need]:
    """The keys of a case's judges."""
    for judge in case.judges:
        if judge.harness:
            for need in _harness_needs(judge.harness, judge.model, env):
                yield Need(need["name"], need["found"], f"{judge.harness}/{judge.model} judges")
        else:
            provider = PROVIDERS[judge.provider or "openai"]
            why = f"{judge.provider or 'openai'}/{judge.model} judges"
            yield Need(provider.key_name, bool(provider.key(env)), why)


def _harness_needs(harness: str, model: str, env: Mapping[str, str]) -> Sequence[Mapping[str, Any]]:
    try:
        needs = getattr(load_harness(harness), "needs", None)
    except SphynxError:
        return ()  # what cannot be loaded is told where it is asked
    return needs(variant(harness=harness, model=model), env) if needs is not None else ()


def provider_keys(case: Case) -> Iterator[str]:
    """The variables that hold the keys of a case's judges that are asked without an agent."""
    yield from (PROVIDERS[judge.provider or "openai"].key_name for judge in case.judges if not judge.harness)


def keys(case: Case, env: Mapping[str, str]) -> dict[str, str]:
    """Every key and login that is set of those a case's person and judges are asked with, by name."""
    found: dict[str, str] = {}
    user = case.user
    if isinstance(user, SimulatedUser):
        found |= _keys(user.harness, user.model or "", env) if user.harness else _person_key(env)
    for judge in case.judges:
        found |= judge_keys(judge, env)
    return found


def secrets(case: Case, env: Mapping[str, str]) -> Iterator[str]:
    """The keys and logins of a case's person and judges, which no record may hold."""
    return key_secrets(keys(case, env))


def judge_keys(judge: JudgeSpec, env: Mapping[str, str]) -> dict[str, str]:
    """The key or login one judge is asked with, by name."""
    if judge.harness:
        return _keys(judge.harness, judge.model, env)
    return _provider_key(PROVIDERS[judge.provider or "openai"], env)


def judge_secrets(judge: JudgeSpec, env: Mapping[str, str]) -> Iterator[str]:
    """The key or login one judge is asked with, as no record may hold it."""
    return key_secrets(judge_keys(judge, env))


def _person_key(env: Mapping[str, str]) -> dict[str, str]:
    return _provider_key(route(configured(env)).provider, env)


def _provider_key(provider: Provider, env: Mapping[str, str]) -> dict[str, str]:
    key = provider.key(env)
    return {provider.key_name: key} if key else {}


def _keys(harness: str, model: str, env: Mapping[str, str]) -> dict[str, str]:
    plain = variant(harness=harness, model=model)
    return harness_keys(CompiledVariant(plain, plain.label, None), env)
