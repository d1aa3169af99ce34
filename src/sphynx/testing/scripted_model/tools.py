"""Turns the neutral actions ``shell``, ``write``, ``edit`` and ``read`` into the asking agent's own tools.

Agents name their tools and arguments differently; the request lists both, so one script can drive any agent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from sphynx.errors import UsageError
from sphynx.testing.scripted_model.conversation import Seen, Tool
from sphynx.testing.scripted_model.steps import ToolCall

_NAMES: dict[str, Sequence[str]] = {
    "shell": ("exec_command", "Bash", "run_shell_command", "bash", "shell", "terminal"),
    "write": ("Write", "write_file", "write"),
    "edit": ("Edit", "replace", "edit", "edit_file"),
    "read": ("Read", "read_file", "read"),
}
_ARGUMENTS: dict[str, Sequence[str]] = {
    "command": ("command", "cmd"),
    "path": ("file_path", "filePath", "absolute_path", "path"),
    "content": ("content",),
    "old": ("old_string", "oldString", "old_text"),
    "new": ("new_string", "newString", "new_text"),
}
_FILLERS: dict[str, Any] = {
    "string": "as the script says", "boolean": False, "number": 0, "integer": 0, "array": [], "object": {}
}  # fmt: skip
_WORKING = re.compile(r"currently working in the directory: (/[^\s<`]*)")


def own_calls(calls: Sequence[ToolCall], seen: Seen) -> tuple[ToolCall, ...]:
    """The step's calls with every neutral action replaced.

    Raises ``UsageError`` that lists the tools there are when the agent offers none for an action.
    """
    return tuple(_own(call, seen) if call.action else call for call in calls)


def _own(call: ToolCall, seen: Seen) -> ToolCall:
    given = dict(call.input) if isinstance(call.input, Mapping) else {}
    offered = {tool.name: tool for tool in seen.tools}
    if "exec" in offered and offered["exec"].free_form:
        return ToolCall("exec", _code(call.name, given))
    tool = next((offered[name] for name in _NAMES[call.name] if name in offered), None)
    if tool is not None:
        return ToolCall(tool.name, _filled(tool, given, seen))
    found = _by_patch(call.name, given, offered) or _by_other_tool(call.name, given, offered, seen)
    if found is None:
        listed = ", ".join(offered) or "none"
        raise UsageError(f"the agent offers no tool to {call.name} with", hint=f"its tools: {listed}")
    return found


def _filled(tool: Tool, given: Mapping[str, Any], seen: Seen) -> dict[str, Any]:
    parameters = tool.parameters
    made: dict[str, Any] = {}
    if "edits" in parameters:
        made["edits"] = [{"oldText": given["old"], "newText": given["new"]}]
        given = {"path": given["path"]}
    for name, value in given.items():
        own = next((alias for alias in _ARGUMENTS[name] if alias in parameters), _ARGUMENTS[name][0])
        about = json.dumps(parameters.get(own) or {})
        made[own] = _absolute(value, seen) if name == "path" and "absolute path" in about else value
    for name in tool.schema.get("required") or []:
        if name not in made:
            made[name] = _filler(parameters.get(name) or {})
    return made


def _filler(schema: Mapping[str, Any]) -> Any:
    """A value for an argument the script says nothing about: nothing where that is allowed."""
    kinds = schema.get("type") or [part.get("type") for part in schema.get("anyOf") or []] or "string"
    if isinstance(kinds, str):
        return _FILLERS.get(kinds)
    return None if "null" in kinds else _FILLERS.get(kinds[0])


def _absolute(path: str, seen: Seen) -> str:
    """Qwen Code takes absolute paths only, and says where it works; other agents take relative ones."""
    found = _WORKING.search(seen.text())
    return path if path.startswith("/") or found is None else f"{found[1].rstrip('/')}/{path}"


def _by_patch(action: str, given: Mapping[str, Any], offered: Mapping[str, Tool]) -> ToolCall | None:
    """Codex writes and edits with patches, through a tool or through its shell."""
    if action not in ("write", "edit"):
        return None
    if "apply_patch" in offered:
        return ToolCall("apply_patch", patch(action, given))
    if "exec_command" in offered:
        return ToolCall("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch(action, given)}\nEOF"})
    return None


def _by_other_tool(
    action: str, given: Mapping[str, Any], offered: Mapping[str, Tool], seen: Seen
) -> ToolCall | None:
    """Claude Code's bare mode creates files by editing nothing into something; Codex reads with its shell."""
    if action == "write" and "Edit" in offered:
        made = {"path": given["path"], "old": "", "new": given["content"]}
        return ToolCall("Edit", _filled(offered["Edit"], made, seen))
    if action == "read" and "exec_command" in offered:
        return ToolCall("exec_command", {"cmd": f"cat {given['path']}"})
    return None


def patch(action: str, given: Mapping[str, Any]) -> str:
    """A ``write`` or ``edit`` in the patch language of Codex."""
    if action == "write":
        body = [f"*** Add File: {given['path']}", *_lines("+", given["content"])]
    else:
        body = [
            f"*** Update File: {given['path']}",
            "@@",
            *_lines("-", given["old"]),
            *_lines("+", given["new"]),
        ]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch"])


def _lines(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


def _code(action: str, given: Mapping[str, Any]) -> str:
    """An action for agents whose only tool runs JavaScript."""
    if action in ("write", "edit"):
        return f"text(await tools.apply_patch({json.dumps(patch(action, given))}));"
    command = given["command"] if action == "shell" else f"cat {given['path']}"
    return f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(r.output);"
