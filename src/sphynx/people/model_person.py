"""A person played by a model through chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphynx.errors import StageError
from sphynx.journal.events import Usage
from sphynx.people.briefing import reply_of, system_prompt
from sphynx.people.routing import Route
from sphynx.providers.asking import ProviderError, post_json
from sphynx.providers.usage import chat_usage

MAX_TOKENS = 512
SAID_NOTHING = "(the agent said nothing)"
"""Stands for an empty answer, which providers refuse."""
LIMIT_S = 120.0
"""Time for one reply; it does not count against the agent."""


class ModelPerson:
    """Remembers what they said, and hears the agent's latest words only."""

    def __init__(self, goal: str, brief: str, route: Route, env: Mapping[str, str]) -> None:
        self._system = system_prompt(goal, brief)
        self._route = route
        self._env = env
        self._said: list[str] = []
        self.usages: list[Usage | None] = []
        """Tokens of each reply that was asked for; ``None`` where the provider did not say."""

    @property
    def model(self) -> str:
        """The model that plays, as it is priced."""
        return self._route.model

    async def reply(self, turn: int, answer: str) -> str | None:
        """What the person says to ``answer``; ``None`` when they are done. ``StageError``: nobody answers."""
        provider = self._route.provider
        messages = [{"role": "system", "content": self._system}]
        messages += [{"role": "assistant", "content": text} for text in self._said]
        messages.append({"role": "user", "content": answer if answer.strip() else SAID_NOTHING})
        body = {"model": self._route.model, "max_completion_tokens": MAX_TOKENS, "messages": messages}
        self.usages.append(None)
        try:
            got, _ = await post_json(
                f"{provider.base_url(self._env)}/chat/completions",
                body,
                key=provider.key(self._env),
                timeout_s=LIMIT_S,
            )
        except ProviderError as error:
            raise self._silent(error.message) from error
        except TimeoutError as error:
            raise self._silent(f"no answer within {LIMIT_S:g} s") from error
        self.usages[-1] = chat_usage(got)
        said = reply_of(self._text(got))
        if said is not None:
            self._said.append(said)
        return said

    async def close(self) -> None:
        """Nothing to close."""

    def _text(self, got: Mapping[str, Any]) -> str | None:
        try:
            content = got["choices"][0]["message"].get("content")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._silent("its answer has no message") from None
        if content is not None and not isinstance(content, str):
            raise self._silent("its message is no text")
        return content

    def _silent(self, why: str) -> StageError:
        label = self._route.provider.label
        text = f"The person did not answer: {label} model {self._route.model}: {why}"
        return StageError(text, stage="person", cause="person")
