"""Who answers the agent of a trial, and what that needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from sphynx.contracts import SandboxSpec
from sphynx.engine.options import Need
from sphynx.engine.other_agents import Spend, agent
from sphynx.people.harness_person import LIMIT_MS, HarnessPerson
from sphynx.people.model_person import ModelPerson
from sphynx.people.routing import MODEL_NAME, configured, route
from sphynx.suite.cases import Case
from sphynx.suite.people import ScriptedUser, SimulatedUser

if TYPE_CHECKING:
    from sphynx.engine.trial import Trial


class Person(Protocol):
    """Who answers the agent. ``None`` means there is nothing more to say."""

    async def reply(self, turn: int, answer: str) -> str | None: ...
    async def close(self) -> None: ...


class ScriptPerson:
    """Says fixed replies in order and never reads what the agent wrote."""

    def __init__(self, replies: list[str]) -> None:
        self._replies = replies

    async def reply(self, turn: int, answer: str) -> str | None:
        """Reply ``turn`` (from 1), or ``None`` when the script has run out."""
        return self._replies[turn - 1] if turn <= len(self._replies) else None

    async def close(self) -> None:
        """Nothing to close."""


def person_of(trial: Trial) -> Person | None:
    """The person of the trial's case; ``None`` for a single prompt.

    ``StageError`` (cause ``person``) names what the harness that plays them lacks.
    """
    user = trial.job.case.case.user
    if user is None:
        return None
    if isinstance(user, ScriptedUser):
        return ScriptPerson(list(user.replies))
    machine = trial.machine
    if user.harness is None:
        return ModelPerson(user.goal, user.prompt, route(configured(machine.host_env)), machine.host_env)
    harness, setup = agent(
        user.harness,
        user.model or "",
        env=machine.host_env,
        timeout_ms=LIMIT_MS,
        show=lambda text: trial.show("person", trial.redactor.text(text)),
        who="person",
    )
    key = trial.job.key
    spec = SandboxSpec(trial_id=f"{key.batch_id}-{key.case_id}-{key.ordinal}-person", isolate=machine.isolate)
    return HarnessPerson(user.goal, user.prompt, harness, setup, lambda: machine.backend.open(spec))


async def close(trial: Trial, person: Person) -> None:
    """Let the person go. A sandbox that does not close cleanly decides nothing."""
    try:
        await person.close()
    except Exception as error:
        trial.notes.append(
            f"the person's sandbox was not closed cleanly: {str(error) or type(error).__name__}"
        )


def spends_of(person: Person | None) -> list[Spend]:
    """What a person's model took, reply by reply; a script takes nothing."""
    if isinstance(person, ModelPerson | HarnessPerson):
        return [Spend(person.model, usage) for usage in person.usages]
    return []


def user_model(case: Case, env: Mapping[str, str]) -> str | None:
    """Who plays the case's person, as part of the variant; ``None`` unless a model does."""
    user = case.user
    if not isinstance(user, SimulatedUser):
        return None
    return f"{user.harness}/{user.model}" if user.harness else configured(env)


def needs_of_case(case: Case, env: Mapping[str, str]) -> Iterator[Need]:
    """The key of the model that plays a person. A run without it is refused before anything starts."""
    user = case.user
    if isinstance(user, SimulatedUser) and user.harness is None:
        provider = route(configured(env)).provider
        why = f"{configured(env)} plays people; {MODEL_NAME} names another model"
        yield Need(provider.key_name, bool(provider.key(env)), why)
