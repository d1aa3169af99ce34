"""Decide criteria by code, inside the trial's sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sphynx.suite.context import PlainContext, Validator, Verdict
from sphynx.suite.skills.model import Criterion, Part

MOST_READ = 2_000_000
"""Bytes read of one file; what comes after is not looked at."""

_SAME_TOOL = (
    frozenset({"bash", "shell", "run_shell_command", "exec_command", "terminal", "command", "execute"}),
    frozenset({"read", "read_file", "read_many_files", "view", "cat", "file_read"}),
    frozenset({"write", "write_file", "create_file", "file_write", "create"}),
    frozenset(
        {"edit", "multiedit", "replace", "apply_patch", "edit_file", "str_replace", "file_edit", "patch"}
    ),
    frozenset({"skill", "activate_skill"}),
    frozenset({"webfetch", "web_fetch", "fetch"}),
    frozenset({"websearch", "web_search", "google_web_search"}),
    frozenset({"glob", "find"}),
    frozenset({"grep", "grep_search", "search_file_content"}),
)


def check_of(criterion: Criterion) -> Validator:
    """The code check of a mechanical criterion: every part must hold, or none of it for one that must not."""

    def check(ctx: PlainContext) -> Verdict:
        failed = [why for part in criterion.parts if (why := _fault(part, ctx))]
        if criterion.absent:
            return Verdict(bool(failed), "" if failed else "it holds, and must not")
        return Verdict(not failed, "; ".join(failed))

    return check


def events_of(turns: Sequence[Any]) -> list[dict[str, Any]]:
    """The journal entries of all turns, in order."""
    return [event for turn in turns for event in turn["events"]]


def _fault(part: Part, ctx: PlainContext) -> str:
    """Why the part does not hold; empty when it does."""
    if part.op in ("exists", "missing"):
        return _presence(part, ctx)
    if part.op in ("tool", "no_tool"):
        return _tools(part, events_of(ctx.turns()))
    if part.op in ("command", "no_command"):
        return _commands(part, events_of(ctx.turns()))
    if part.op == "run":
        return _run(part, ctx)
    found = list(_texts(part, ctx))
    if not found:
        return f"{part.path or 'no changed file'} is not there"
    return _text_fault(part, "\n".join(found))


def _text_fault(part: Part, text: str) -> str:
    hay = text.casefold()
    values = [value.casefold() for value in part.values]
    if part.op == "any":
        return "" if any(v in hay for v in values) else f"none of {_list(part.values)} is there"
    if part.op == "all":
        missing = [v for v in part.values if v.casefold() not in hay]
        return f"missing: {_list(missing)}" if missing else ""
    if part.op == "none":
        there = [v for v in part.values if v.casefold() in hay]
        return f"there is {_list(there)}" if there else ""
    if part.op == "ordered":
        at = 0
        for value, shown in zip(values, part.values, strict=True):
            found = hay.find(value, at)
            if found < 0:
                return f"{shown} is missing or too early"
            at = found + len(value)
        return ""
    return _pattern_fault(part, text, hay)


def _pattern_fault(part: Part, text: str, hay: str) -> str:
    if part.op in ("count", "count_regex"):
        if part.op == "count":
            seen = sum(hay.count(value.casefold()) for value in part.values)
        else:
            seen = sum(len(re.findall(value, text, re.M)) for value in part.values)
        low, high = part.low, part.high
        fits = seen >= low and (high is None or seen <= high)
        wanted = f"at least {low}" if high is None else f"{low} to {high}"
        return "" if fits else f"{_list(part.values)} is there {seen} times, {wanted} wanted"
    hits = [value for value in part.values if re.search(value, text, re.M)]
    if part.op == "regex_none":
        return f"{_list(hits)} matches" if hits else ""
    if part.op == "regex_any":
        return "" if hits else f"none of {_list(part.values)} matches"
    missing = [value for value in part.values if value not in hits]
    return f"no match: {_list(missing)}" if missing else ""


def _texts(part: Part, ctx: PlainContext) -> Iterator[str]:
    """The texts a part looks at."""
    if part.where == "answer":
        yield ctx.answer()
    elif part.where == "transcript":
        yield "\n".join(_told(event) for event in events_of(ctx.turns()))
    elif part.where == "file":
        yield from _read(ctx.workspace, [part.path])
    else:
        changed = [
            path
            for event in events_of(ctx.turns())
            if event["_tag"] == "fileChange"
            for path in event["paths"]
        ]
        yield from _read(ctx.workspace, changed)


def _told(event: Any) -> str:
    """An entry as text: what was done and said, without the person's own words."""
    tag = event["_tag"]
    if tag == "message":
        return "" if event["role"] == "user" else str(event["text"])
    if tag == "command":
        return f"{event['command']}\n{event['output']}"
    if tag == "toolCall":
        return "\n".join(str(event.get(key) or "") for key in ("name", "input", "output", "error"))
    return "\n".join(event.get("paths") or [])


def _matching(workspace: str, pattern: str) -> list[Path]:
    """Files of the workspace at a path or a pattern of paths; nothing that leads out of it."""
    root = Path(workspace).resolve()
    try:
        found = sorted(root.glob(pattern)) if any(sign in pattern for sign in "*?[") else [root / pattern]
        return [path for path in found if path.resolve().is_relative_to(root) and path.exists()]
    except (OSError, ValueError, NotImplementedError):
        return []


def _read(workspace: str, paths: Sequence[str]) -> Iterator[str]:
    for path in dict.fromkeys(file for pattern in paths for file in _matching(workspace, pattern)):
        if path.is_file():
            with path.open("rb") as source:
                data = source.read(MOST_READ)
            if b"\0" not in data:
                yield data.decode("utf-8", "replace")


def _presence(part: Part, ctx: PlainContext) -> str:
    there = {value: bool(_matching(ctx.workspace, value)) for value in part.values}
    wrong = [value for value, found in there.items() if found != (part.op == "exists")]
    state = "missing" if part.op == "exists" else "there"
    return f"{state}: {_list(wrong)}" if wrong else ""


def _tools(part: Part, events: Sequence[Any]) -> str:
    used = {name for event in events for name in _tool_names(event)}
    if part.op == "tool":
        missing = [value for value in part.values if not _alike(value) & used]
        return f"not used: {_list(missing)}" if missing else ""
    there = [value for value in part.values if _alike(value) & used]
    return f"used: {_list(there)}" if there else ""


def _tool_names(event: Any) -> set[str]:
    tag = event["_tag"]
    if tag == "command":
        first = str(event["command"]).split()[:1]
        return {"bash", "cat"} if first and first[0] in ("cat", "head", "tail", "sed") else {"bash"}
    if tag == "fileChange":
        return {"write", "edit"}
    if tag == "toolCall":
        return {str(event.get("name") or "").lower(), str(event.get("kind") or "").lower()} - {""}
    return set()


def _alike(name: str) -> set[str]:
    lowered = name.strip().lower()
    return {lowered, *next((names for names in _SAME_TOOL if lowered in names), frozenset[str]())}


def _commands(part: Part, events: Sequence[Any]) -> str:
    ran = [str(event["command"]).casefold() for event in events if event["_tag"] == "command"]
    there = [value for value in part.values if any(value.casefold() in command for command in ran)]
    if part.op == "no_command":
        return f"ran: {_list(there)}" if there else ""
    missing = [value for value in part.values if value not in there]
    return f"did not run: {_list(missing)}" if missing else ""


def _run(part: Part, ctx: PlainContext) -> str:
    command, *wanted = part.values
    ended = ctx.exec(command)
    if ended.timed_out:
        return "the command ran out of time"
    if ended.exit_code != part.status:
        return f"the command exited with {ended.exit_code}, {part.status} wanted"
    missing = [text for text in wanted if text.casefold() not in (ended.stdout + ended.stderr).casefold()]
    return f"its output does not hold {_list(missing)}" if missing else ""


def _list(values: Sequence[str]) -> str:
    return ", ".join(value if len(value) <= 60 else f"{value[:57]}..." for value in values)
