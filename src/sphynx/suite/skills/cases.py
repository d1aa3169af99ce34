"""Read one case of an evals file."""

# pyright: basic
# The values are other people's JSON: their types are looked at where they are used.
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sphynx.suite.skills.criteria import EXPECTED, MUST, MUST_NOT, expected_text, read_criteria
from sphynx.suite.skills.json_places import Path
from sphynx.suite.skills.model import Criterion, EvalCase, FileRef, Trigger, slug, texts_of
from sphynx.suite.skills.report import Findings

PROMPTS = ("prompt", "query", "input", "task", "message")
CONVERSATIONS = ("turns", "messages", "conversation")
TRIGGERS = ("should_trigger", "expected_trigger")
SKILL_NAMES = ("expected_skill", "expect_skill", "skills_expected_to_activate")
NAMES = ("name", "eval_name", "title")
TAGS = ("category", "type", "scenario_type")
TIMES = ("timeout_seconds", "timeout")
LONGEST_ID = 100
LONGEST_PROMPT = 16_384
SHORT_NAME = 60
MOST_TAGS = 12

_READ = frozenset(
    {
        *PROMPTS, *CONVERSATIONS, *TRIGGERS, *SKILL_NAMES, *NAMES, *TAGS, *TIMES, *MUST, *MUST_NOT, *EXPECTED,
        "id", "eval_id", "tags", "files", "passed", "evidence",
    }
)  # fmt: skip


def has_prompt(item: Mapping[str, Any]) -> bool:
    """Whether an object of a list looks like a case."""
    return any(item.get(key) for key in (*PROMPTS, *CONVERSATIONS))


class CaseReader:
    """Reads the cases of one file; their handles must differ."""

    def __init__(self, suite: str, say: Findings) -> None:
        self.suite = suite
        self.say = say
        self._ids: dict[str, int] = {}

    def read(self, item: Any, path: Path, *, number: int, prefix: str) -> EvalCase | None:
        """One case; ``None`` and an error when it cannot be one. ``number`` is its position from 1."""
        who = f"case {self.say.case}"
        if not isinstance(item, dict):
            self.say.error(f"{who} must be an object", path)
            return None
        for key in item:
            if key not in _READ:
                self.say.unread(key)
        eval_id, case_id = self._id(item, path, who, number, prefix)
        prompt, replies = self._prompt(item, path, who)
        criteria = read_criteria(item, path, who, self.say)
        expected = expected_text(item)
        trigger = self._trigger(item, path, who)
        if not criteria and trigger is None and expected:
            criteria = (Criterion(expected, derived=True),)
        case = EvalCase(
            case_id, eval_id, number, _name(item, prompt), prompt, replies, expected,
            self._files(item, path, who), criteria, trigger, _tags(item, prefix),
            self._timeout(item, path, who), path,
        )  # fmt: skip
        if not case.checkable:
            self.say.warning(f"{who}: there is nothing to check it by: its trials stay unscored", path)
        return case

    def _id(self, item: dict[str, Any], path: Path, who: str, number: int, prefix: str) -> tuple[str, str]:
        key = next((key for key in ("id", "eval_id") if item.get(key) is not None), None)
        given = item[key] if key else next((item[name] for name in NAMES if item.get(name)), number)
        if isinstance(given, float) and given.is_integer():
            given = int(given)
        if isinstance(given, bool) or not isinstance(given, (int, str)):
            self.say.error(f"{who}: id must be a whole number or text", (*path, key or "id"))
            given = number
        own = slug(str(given), str(number))
        handle = "-".join(part for part in (self.suite, prefix, own) if part)[:LONGEST_ID].rstrip("-")
        earlier = self._ids.setdefault(handle, self.say.case)
        if earlier != self.say.case:
            self.say.error(
                f'{who}: id "{given}" is there twice: it makes the same handle {handle} as case {earlier}',
                (*path, key or "id"),
            )
        return str(given), handle

    def _prompt(self, item: dict[str, Any], path: Path, who: str) -> tuple[str, tuple[str, ...]]:
        for key in PROMPTS:
            value = item.get(key)
            if value is None:
                continue
            if not isinstance(value, str):
                self.say.error(f"{who}: {key} must be text", (*path, key))
            elif not value.strip():
                self.say.error(f"{who}: {key} is empty", (*path, key))
            else:
                self._look_at_prompt(value, (*path, key), who)
                return value, ()
            return "", ()
        for key in CONVERSATIONS:
            said = _people(item.get(key))
            if said:
                self._look_at_prompt(said[0], (*path, key), who)
                return said[0], tuple(said[1:])
        self.say.error(f"{who}: prompt is missing", path)
        return "", ()

    def _look_at_prompt(self, prompt: str, path: Path, who: str) -> None:
        if prompt.startswith("/"):
            self.say.warning(
                f"{who}: the prompt is a slash command, which does not exist without the skill: "
                "its difference is not a fair one",
                path,
            )
        if found := re.findall(r"\{\{[A-Z][A-Z0-9_]*\}\}", prompt):
            self.say.warning(f"{who}: the placeholder {found[0]} stays as it is: nothing fills it in", path)
        if len(prompt) > LONGEST_PROMPT or len(prompt.encode("utf-16-le")) // 2 > LONGEST_PROMPT:
            self.say.error(f"{who}: prompt has more than {LONGEST_PROMPT:,} characters", path)

    def _trigger(self, item: dict[str, Any], path: Path, who: str) -> Trigger | None:
        key = next((key for key in TRIGGERS if key in item), None)
        named = next((texts_of(item[name]) for name in SKILL_NAMES if texts_of(item.get(name))), ())
        if key is None:
            return Trigger(True, named) if named else None
        value = item[key]
        if value is None or value == []:
            return Trigger(False)
        if isinstance(value, bool):
            return Trigger(value, named if value else ())
        if names := texts_of(value):
            return Trigger(True, names)
        self.say.error(f"{who}: {key} must be true, false, null or names of skills", (*path, key))
        return None

    def _files(self, item: dict[str, Any], path: Path, who: str) -> tuple[FileRef, ...]:
        value = item.get("files")
        if value is None:
            return ()
        if isinstance(value, str):
            value = [value]
        if isinstance(value, dict):
            value = [{"path": name, "content": text} for name, text in value.items()]
        if not isinstance(value, list):
            self.say.error(f"{who}: files must be a list of paths", (*path, "files"))
            return ()
        found: dict[str, FileRef] = {}
        for index, one in enumerate(value):
            at, where = f"{who}: files[{index + 1}]", (*path, "files", index)
            name = one.get("path", one.get("name")) if isinstance(one, dict) else one
            content = one.get("content") if isinstance(one, dict) else None
            if not isinstance(name, str) or not name.strip():
                self.say.error(f"{at} names no path", where)
                continue
            clean = _inside(name.strip())
            if clean is None:
                self.say.error(f"{at} must stay inside the skill, {name} does not", where)
                continue
            found.setdefault(clean, FileRef(clean, content if isinstance(content, str) else None, index))
        return tuple(found.values())

    def _timeout(self, item: dict[str, Any], path: Path, who: str) -> int | None:
        for key in TIMES:
            value = item.get(key)
            if value is None:
                continue
            if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9:
                return max(1_000, min(3_600_000, int(value * 1000)))
            self.say.warning(f"{who}: {key} is no number of seconds", (*path, key))
        return None


def _people(value: Any) -> list[str]:
    """What the person says in a conversation."""
    if not isinstance(value, list):
        return []
    said: list[str] = []
    for turn in value:
        if isinstance(turn, str):
            said.append(turn)
        elif isinstance(turn, dict) and str(turn.get("role", "user")).lower() in ("user", "human"):
            keys = ("content", "text", *PROMPTS, "user")
            said += [
                text for text in [next((turn[k] for k in keys if isinstance(turn.get(k), str)), "")] if text
            ]
    return [text for text in said if text.strip()]


def _name(item: dict[str, Any], prompt: str) -> str:
    named = next((item[key] for key in NAMES if isinstance(item.get(key), str) and item[key].strip()), "")
    text = " ".join((named or prompt).split())
    return text[:200] if named else text[:SHORT_NAME]


def _tags(item: dict[str, Any], prefix: str) -> tuple[str, ...]:
    found = [prefix] if prefix else []
    found += texts_of(item.get("tags"))
    for key in TAGS:
        found += texts_of(item.get(key))
    cut = (text.strip()[:40] for text in found)
    return tuple(dict.fromkeys(text for text in cut if text))[:MOST_TAGS]


def _inside(path: str) -> str | None:
    """A relative path without dots; ``None`` when it would leave its folder."""
    clean = path.replace("\\", "/")
    if clean.startswith(("/", "~")) or re.match(r"[A-Za-z]:", clean) or "\0" in clean:
        return None
    steps = [step for step in clean.split("/") if step not in ("", ".")]
    if not steps or ".." in steps:
        return None
    return "/".join(steps)
