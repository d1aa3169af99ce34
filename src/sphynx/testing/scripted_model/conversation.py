"""A model request in one shape, whatever protocol it came in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sphynx.testing.scripted_model.steps import When

Role = Literal["system", "user", "model", "tool"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One piece of the conversation: ``tool`` is a tool's result, ``model`` what the model said or called."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the request offers; ``schema`` is its JSON Schema, empty for a free-form tool."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any])
    free_form: bool = False
    namespace: str | None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The schema's properties by name."""
        found = self.schema.get("properties")
        return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Seen:
    """One recorded request: what came over the wire and what it means.

    ``key`` is the API key it carried, ``headers`` have lower-case names, ``body`` is the decoded JSON.
    """

    protocol: str
    path: str
    key: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    model: str
    stream: bool
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...]

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools the request offers, in order."""
        return [tool.name for tool in self.tools]

    def text(self, *roles: Role) -> str:
        """The texts of these roles, joined by line ends; of all when none is named."""
        return "\n".join(turn.text for turn in self.turns if not roles or turn.role in roles)

    @property
    def model_turns(self) -> int:
        """How many answers of the model the conversation already holds."""
        return len(self._answers())

    def before_answer(self, number: int) -> Seen:
        """The request as it was when the model's answer ``number`` (from 0) was asked for."""
        start = self._answers()[number]
        return Seen(
            self.protocol, self.path, self.key, self.headers, self.body, self.model, self.stream,
            self.turns[:start], self.tools,
        )  # fmt: skip

    def _answers(self) -> list[int]:
        # Several pieces of the model in a row are one answer: text, reasoning and calls come apart.
        turns = self.turns
        return [
            at
            for at, turn in enumerate(turns)
            if turn.role == "model" and (at == 0 or turns[at - 1].role != "model")
        ]

    def latest(self) -> list[Turn]:
        """What is new since the model last spoke."""
        answers = [at for at, turn in enumerate(self.turns) if turn.role == "model"]
        return list(self.turns[answers[-1] + 1 :] if answers else self.turns)

    def fits(self, when: When | None) -> bool:
        """Whether the request meets the condition; no condition is always met."""
        if when is None:
            return True
        latest = self.latest()
        contained = (
            (when.prompt, self.text("user")),
            (when.last, "\n".join(turn.text for turn in latest)),
            (when.result, "\n".join(turn.text for turn in latest if turn.role == "tool")),
            (when.system, self.text("system")),
        )
        return (
            all(wanted is None or wanted in text for wanted, text in contained)
            and (when.tool is None or when.tool in self.tool_names)
            and (when.tools is None or when.tools == bool(self.tools))
            and (when.model is None or when.model == self.model)
        )


def flat(content: Any) -> str:
    """The text of a content value of any protocol: a string, parts with ``text``, or JSON as it is."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        text = content.get("text")
        return text if isinstance(text, str) else json.dumps(content, ensure_ascii=False)
    if isinstance(content, Iterable):
        return "\n".join(flat(part) for part in content)
    return str(content)
