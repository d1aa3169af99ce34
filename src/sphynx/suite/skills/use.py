"""Read from a journal whether an agent used a skill, and when: the proofs that each agent's events hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sphynx.suite.fields import mapping

_SKILL_TOOLS = frozenset({"skill", "activate_skill"})
_READING = re.compile(r"\b(?:read|view|cat|open)", re.I)
_LOOKING = frozenset(
    {"ls", "find", "grep", "rg", "stat", "test", "[", "wc", "echo", "tree", "file", "git", "fd"}
)
_BY_NAME = {"claude": "/{}", "qwen": "/{}", "pi": "/skill:{}", "opencode": "", "gemini": "", "codex": "${}"}
SHORTEST_MARK = 24
MOST_MARKS = 8


class Use(NamedTuple):
    """How a skill was used. Each number is the place of the first proof among what the agent did, from 0."""

    opened: int | None = None
    """A skill tool succeeded, its SKILL.md was read, or the prompt named it and its text was put in."""
    resource: int | None = None
    """Another file of the skill was touched."""
    script: int | None = None
    """A script of the skill was run."""
    attempts: int = 0
    """Calls that failed: an unknown name, a denied permission."""
    actions: int = 0
    """Everything the agent did: commands, tool calls, changes of files."""

    @property
    def used(self) -> bool:
        """Whether the skill was picked up."""
        return self.opened is not None

    @property
    def late(self) -> bool:
        """Whether something else was done before."""
        return bool(self.opened)


def marks_of(skill_md: str) -> tuple[str, ...]:
    """Lines of a skill's body that hardly stand anywhere else: how its text is known in an output."""
    body = re.sub(r"\A\ufeff?---\r?\n.*?\n---\r?\n", "", skill_md, flags=re.S)
    lines = [line.strip() for line in body.splitlines() if len(line.strip()) >= SHORTEST_MARK]
    return tuple(dict.fromkeys(line for line in lines if not set(line) <= set("-=|: ")))[:MOST_MARKS]


def skill_use(
    events: Iterable[Any], name: str, *, marks: Sequence[str] = (), harness: str = "", prompt: str = ""
) -> Use:
    """Look through journal entries (wire form) for proofs that the skill ``name`` was used.

    Only what succeeded counts; a listing that merely names the folder does not. ``marks`` are lines of its
    body. A ``prompt`` that calls the skill by name counts for agents that put its text in without an event.
    """
    seen = _Seen(name, marks)
    form = _BY_NAME.get(harness, "")
    if form and (call := form.format(name)) and _calls(prompt, call, anywhere=harness == "codex"):
        seen.opened = 0
    for event in events:
        seen.look(event)
    return Use(seen.opened, seen.resource, seen.script, seen.attempts, seen.actions)


def _calls(prompt: str, call: str, *, anywhere: bool) -> bool:
    pattern = rf"{re.escape(call)}(?![\w-])"
    return bool(re.search(pattern, prompt) if anywhere else re.match(pattern, prompt))


class _Seen:
    def __init__(self, name: str, marks: Sequence[str]) -> None:
        self.name = name
        self.marks = marks
        self.opened: int | None = None
        self.resource: int | None = None
        self.script: int | None = None
        self.attempts = 0
        self.actions = 0
        quoted = re.escape(name)
        self._main = re.compile(rf"(?:^|[/\s\"'=]){quoted}/SKILL\.md", re.I)
        self._other = re.compile(rf"(?:skills/{quoted}|{quoted})/(?!SKILL\.md)[\w.-]", re.I)
        self._script = re.compile(rf"{quoted}/scripts/[\w.-]")
        self._put_in = re.compile(rf"<skill(?: name=\"|>\s*<name>){quoted}|<command-name>/?{quoted}<")

    def look(self, event: Any) -> None:
        tag = event["_tag"]
        if tag == "message":
            if event["role"] == "user" and self._put_in.search(event["text"]):
                self._open(True)
            return
        if tag == "toolCall":
            self._tool(event)
        elif tag == "command":
            self._command(event)
        self.actions += 1

    def _tool(self, event: Any) -> None:
        name = str(event.get("name") or "").lower()
        given = str(event.get("input") or "")
        good = event.get("status") != "error" and not event.get("error")
        if name in _SKILL_TOOLS:
            if _asked_for(given) == self.name.lower():
                self._open(good)
        elif event.get("kind") == "file_read" or _READING.match(name):
            if self._main.search(given) or self._marked(event.get("output")):
                self._open(good)
            elif good and self._other.search(given):
                self.resource = self.actions if self.resource is None else self.resource

    def _command(self, event: Any) -> None:
        command, output = str(event["command"]), str(event["output"])
        good = event["exitCode"] == 0
        if self._marked(output):
            self._open(True)
        elif self._main.search(command) and not _only_looks(command):
            self._open(good)
        if good and self._other.search(command) and not _only_looks(command):
            self.resource = self.actions if self.resource is None else self.resource
            if self._script.search(command) and self.script is None:
                self.script = self.actions

    def _open(self, good: bool) -> None:
        if not good:
            self.attempts += 1
        elif self.opened is None:
            self.opened = self.actions

    def _marked(self, output: Any) -> bool:
        return bool(self.marks) and any(mark in str(output or "") for mark in self.marks)


def _asked_for(given: str) -> str:
    """The skill a skill tool was called with, without a plugin's name before it."""
    try:
        value: Any = json.loads(given)
    except ValueError:
        return ""
    fields = mapping(value) or {}
    named = next((str(fields[key]) for key in ("skill", "name", "command") if key in fields), "")
    return named.strip().removeprefix("/").rpartition(":")[2].lower()


def _only_looks(command: str) -> bool:
    """Whether a command merely lists or searches: it says nothing of what was read."""
    inner = re.sub(r"^\S*(?:ba|z|da)?sh\s+-l?c\s+", "", command.strip()).strip("'\"")
    steps = [step.split() for step in re.split(r"&&|\|\||[;|\n]", inner) if step.strip()]
    return all(step[0].rpartition("/")[2] in _LOOKING for step in steps if step)
