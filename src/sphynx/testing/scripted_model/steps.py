"""What a script is made of: steps, tool calls, token counts and conditions.

The builders (:func:`say`, :func:`call`, :func:`shell`, :func:`fail` ...) make :class:`Step` and
:class:`ToolCall` objects; :func:`step_from` makes the same from plain JSON, which is what script files hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sphynx.errors import UsageError

FOREVER = 86_400.0
"""Seconds that stand for "never answers"."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one answer in one meaning: ``input`` excludes what came from or went to the cache,
    ``output`` includes ``reasoning``. Every protocol reports them in its own way."""

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def prompt(self) -> int:
        """All tokens that were sent: fresh, read from the cache and written to it."""
        return self.input + self.cache_read + self.cache_write


@dataclass(frozen=True, slots=True)
class When:
    """A condition on the request; each text must be contained somewhere, all given ones must hold.

    ``prompt``: any user message. ``last``: anything new since the model last spoke. ``result``: a tool
    result since the model last spoke. ``system``: the instructions. ``tool``: the exact name of an offered
    tool. ``tools``: whether any tool is offered. ``model``: the exact model name.
    """

    prompt: str | None = None
    last: str | None = None
    result: str | None = None
    system: str | None = None
    tool: str | None = None
    tools: bool | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call. ``input`` is a JSON object, or a text for a free-form tool (``apply_patch``).

    ``action`` marks a call that is written down without naming a tool (``shell``, ``write``, ``edit``,
    ``read``); it becomes a call of the asking agent's own tool when the request is answered.
    """

    name: str
    input: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    namespace: str | None = None
    action: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model, or one way of failing to answer."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    reasoning: str | None = None
    tokens: Tokens = Tokens()
    finish: str | None = None
    """Why the answer ended when it did not end by itself: ``length`` or ``refusal``."""
    status: int | None = None
    """Answer with this HTTP status instead."""
    message: str = ""
    """The error's text, for ``status`` and ``stream_error``."""
    code: str | None = None
    """The error's code, such as ``model_not_found`` or ``insufficient_quota``."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stream_error: bool = False
    """Begin a stream, then report ``message`` inside it."""
    delay: float = 0.0
    """Seconds before the status line."""
    stall: float = 0.0
    """Seconds of silence after the first streamed event."""
    cut: bool = False
    """Close the connection before the stream is complete."""
    when: When | None = None

    @property
    def answers(self) -> bool:
        """Whether this step becomes part of the conversation; a failure does not."""
        return self.status is None and not self.cut and not self.stream_error and self.stall < FOREVER


def say(
    text: str, *, tokens: Tokens | None = None, reasoning: str | None = None, when: When | None = None
) -> Step:
    """The model answers with a text and ends its turn."""
    return Step(text=text, tokens=tokens or Tokens(), reasoning=reasoning, when=when)


def use(
    *calls: ToolCall,
    text: str | None = None,
    tokens: Tokens | None = None,
    reasoning: str | None = None,
    when: When | None = None,
) -> Step:
    """The model calls tools, perhaps after saying something."""
    return Step(text=text, calls=calls, tokens=tokens or Tokens(), reasoning=reasoning, when=when)


def call(name: str, /, _text: str | None = None, *, namespace: str | None = None, **input: Any) -> ToolCall:
    """A call of the tool ``name``: keywords are its arguments, or one text for a free-form tool."""
    return ToolCall(name, _text if _text is not None else input, namespace)


def shell(command: str) -> ToolCall:
    """Run a shell command with whatever shell tool the asking agent offers."""
    return ToolCall("shell", {"command": command}, action=True)


def write(path: str, content: str) -> ToolCall:
    """Create a file with the asking agent's own tool; ``path`` is relative to where the agent works."""
    return ToolCall("write", {"path": path, "content": content}, action=True)


def edit(path: str, old: str, new: str) -> ToolCall:
    """Replace ``old`` by ``new`` in a file with the asking agent's own tool."""
    return ToolCall("edit", {"path": path, "old": old, "new": new}, action=True)


def read(path: str) -> ToolCall:
    """Read a file with the asking agent's own tool."""
    return ToolCall("read", {"path": path}, action=True)


def fail(
    status: int, message: str = "", *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Step:
    """The server answers with an HTTP error in the protocol's own shape."""
    return Step(status=status, message=message or f"scripted {status}", code=code, headers=headers or {})


def cut(step: Step) -> Step:
    """``step``, but the connection closes before the stream is complete."""
    return replace(step, cut=True)


def silent() -> Step:
    """The server takes the request and never answers."""
    return Step(delay=FOREVER, stall=FOREVER)


_STEP_KEYS = tuple(item.name for item in fields(Step))
_ACTIONS = ("shell", "write", "edit", "read")


def step_from(value: Step | Mapping[str, Any], where: str) -> Step:
    """A step from JSON. Keys are those of :class:`Step`; a tool call is ``{"name", "input"}``, or a neutral
    action such as ``{"shell": {"command": "ls"}}``. Raises ``UsageError`` that names the step and the key."""
    if isinstance(value, Step):
        return value
    given = _checked(value, _STEP_KEYS, where)
    if "tokens" in given:
        given["tokens"] = _built(Tokens, given["tokens"], f"{where}, tokens")
    if "when" in given:
        given["when"] = _built(When, given["when"], f"{where}, when")
    calls = given.get("calls", ())
    if isinstance(calls, str | Mapping):
        raise UsageError(f"{where}: calls is a list of tool calls")
    given["calls"] = tuple(_call_from(item, f"{where}, call {n}") for n, item in enumerate(calls, 1))
    return Step(**given)


def steps_from(values: Sequence[Step | Mapping[str, Any]], where: str) -> tuple[Step, ...]:
    """All steps of a script; an empty script is an error."""
    if isinstance(values, str | Mapping) or not values:
        raise UsageError(f"{where}: a script is a list of one or more steps")
    return tuple(step_from(value, f"{where}, step {n}") for n, value in enumerate(values, 1))


def _call_from(value: ToolCall | Mapping[str, Any], where: str) -> ToolCall:
    if isinstance(value, ToolCall):
        return value
    for action in _ACTIONS:
        if isinstance(value, Mapping) and set(value) == {action}:
            return ToolCall(action, dict(value[action]), action=True)
    given = _checked(value, ("name", "input", "namespace"), where)
    if "name" not in given:
        raise UsageError(f"{where}: needs a name, or one of " + ", ".join(_ACTIONS))
    return ToolCall(**given)


def _built(kind: type[Any], value: Any, where: str) -> Any:
    if isinstance(value, kind):
        return value
    return kind(**_checked(value, [item.name for item in fields(kind)], where))


def _checked(value: Any, known: Sequence[str], where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: expected an object, got {type(value).__name__}")
    for key in value:
        if key not in known:
            raise UsageError(f'{where}: unknown key "{key}"', hint="known: " + ", ".join(known))
    return dict(value)
