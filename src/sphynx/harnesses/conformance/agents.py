"""The checks of harnesses."""

from __future__ import annotations

import time
from typing import Any

import anyio

from sphynx.contracts import SandboxBackend, SandboxSpec, TurnResult
from sphynx.harnesses.conformance.checks import HarnessCheck, Subject, Trial, harness_check
from sphynx.journal import store
from sphynx.journal.events import Message
from sphynx.journal.tool_names import KINDS
from sphynx.schema.records import CAUSES

SPEC = SandboxSpec(trial_id="conformance")
_GRACE_S = 10.0
_KEY = "conformance-key-0123456789"


async def run(
    check: HarnessCheck, subject: Subject, backend: SandboxBackend, spec: SandboxSpec = SPEC
) -> None:
    """Open a sandbox, put a fresh harness through one check, and close the sandbox whatever happened."""
    box = await backend.open(spec)
    try:
        await check.body(Trial(subject, box))
    finally:
        await box.close()


async def _went_well(trial: Trial, result: TurnResult) -> None:
    assert result.status == "finished", f"the turn {result.status}: {result.reason}"


@harness_check
async def it_says_its_name_and_version(trial: Trial) -> None:
    """``name`` is text that says something, ``version`` is text, before and after ``prepare``."""
    for _ in range(2):
        assert trial.harness.name and isinstance(trial.harness.name, str)
        assert isinstance(trial.harness.version, str)
        await trial.prepare()


@harness_check
async def a_turn_ends_with_a_result(trial: Trial) -> None:
    """An ordinary turn is ``finished`` and gives no reason."""
    await trial.prepare()
    result = await trial.turn()
    await _went_well(trial, result)
    assert result.reason == ""


@harness_check
async def events_can_be_stored(trial: Trial) -> None:
    """Every event is one of the journal's and comes back from its stored line as it was."""
    await trial.prepare()
    await trial.turn()
    for event in trial.events:
        assert store.decode(store.encode(event)) == event


@harness_check
async def the_prompt_is_not_an_event(trial: Trial) -> None:
    """The engine records what the person says: a harness emits no user message for it."""
    await trial.prepare()
    await trial.turn()
    said = [event.text for event in trial.events if isinstance(event, Message) and event.role == "user"]
    assert trial.subject.prompt not in said


@harness_check
async def kinds_of_tools_are_known(trial: Trial) -> None:
    """A tool call's ``kind`` is a canonical name or is left out."""
    await trial.prepare()
    await trial.turn()
    for event in trial.events:
        kind = getattr(event, "kind", None)
        assert kind is None or kind in KINDS, kind


@harness_check
async def usage_counts_up_from_zero(trial: Trial) -> None:
    """Token counts are not negative; unknown usage is ``None``, not zeros."""
    await trial.prepare()
    usage = (await trial.turn()).usage
    if usage is not None:
        parts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        assert min(parts) >= 0 and usage.total >= max(parts) > 0


@harness_check
async def causes_are_known(trial: Trial) -> None:
    """A turn's ``cause`` is one the records know."""
    await trial.prepare()
    assert (await trial.turn()).cause in CAUSES


@harness_check
async def a_named_session_can_be_continued(trial: Trial) -> None:
    """A turn that names a session can be followed by another with it, which keeps the name."""
    await trial.prepare()
    first = await trial.turn()
    if first.session_id is None:
        return
    second = await trial.turn(session_id=first.session_id)
    await _went_well(trial, second)
    assert second.session_id == first.session_id


@harness_check
async def prompts_arrive_whatever_they_hold(trial: Trial) -> None:
    """Quotes, dashes, line ends, dollars and other alphabets in a prompt break nothing."""
    await trial.prepare()
    await _went_well(
        trial, await trial.turn(f"--help 'x' \"y\" $HOME `id` \\ é 漢 😀\n\n{trial.subject.prompt}")
    )


@harness_check
async def keys_are_in_no_arguments(trial: Trial) -> None:
    """No key or login it is given appears in the arguments of a process, which any user can read."""
    secrets = [value for value in trial.setup.keys.values() if not value.startswith("http")]
    await trial.prepare()
    await trial.turn()
    for argv in trial.box.started:
        assert not any(secret in part for secret in secrets for part in argv)


@harness_check
async def it_picks_keys_from_what_is_there(trial: Trial) -> None:
    """``keys``, where there is one, gives variables of the environment and never invents any."""
    keys = getattr(type(trial.harness), "keys", None)
    if keys is None:
        return
    variant = _variant(trial)
    assert dict(keys(variant, {})) == {}
    env = {"OPENAI_API_KEY": _KEY, "ANTHROPIC_API_KEY": _KEY, "HOME": "/nowhere"}
    assert dict(keys(variant, env)).items() <= env.items()


@harness_check
async def it_says_what_it_needs(trial: Trial) -> None:
    """``needs``, where there is one, names each missing variable, whether it is there, and why."""
    needs = getattr(type(trial.harness), "needs", None)
    if needs is None:
        return
    for need in needs(_variant(trial), {}):
        assert set(need) == {"name", "found", "why"}
        assert need["name"] and need["found"] is False and need["why"]


@harness_check
async def trials_share_nothing(trial: Trial) -> None:
    """Two harnesses from the factory know nothing of each other."""
    other = trial.subject.factory()
    assert other is not trial.harness
    await trial.prepare()
    await trial.turn()
    before = list(trial.events)
    await other.prepare(trial.box, trial.setup)
    events: list[Any] = []
    again = await other.turn(
        trial.box,
        trial.subject.prompt,
        session_id=None,
        timeout_ms=trial.setup.timeout_ms,
        emit=events.append,
    )
    await _went_well(trial, again)
    assert trial.events == before, "its events went to the other trial"
    assert {type(event) for event in events} == {type(event) for event in before}


@harness_check
async def the_time_limit_ends_a_turn(trial: Trial) -> None:
    """A turn past ``timeout_ms`` ends soon after as ``timed_out``."""
    if trial.subject.slow_prompt is None:
        return
    await trial.prepare()
    begun = time.monotonic()
    result = await trial.turn(trial.subject.slow_prompt, timeout_ms=1_000)
    assert result.status == "timed_out"
    assert time.monotonic() - begun < 1 + _GRACE_S


@harness_check
async def a_cancelled_turn_ends_at_once(trial: Trial) -> None:
    """Cancelling the task of a turn ends it; nothing is swallowed."""
    if trial.subject.slow_prompt is None:
        return
    await trial.prepare()
    begun = time.monotonic()
    with anyio.move_on_after(0.5) as scope:
        await trial.turn(trial.subject.slow_prompt)
    assert scope.cancelled_caught
    assert time.monotonic() - begun < _GRACE_S


class _Variant:
    harness = "conformance"
    model = "openai/conformance"
    options: dict[str, Any] = {}  # noqa: RUF012
    harness_version = None
    profile = None


def _variant(trial: Trial) -> _Variant:
    variant = _Variant()
    variant.model = trial.setup.model
    return variant
