"""``shell``, ``write``, ``edit`` and ``read`` become the asking agent's own tools."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sphynx.errors import UsageError
from sphynx.testing.scripted_model import Seen, Tool, ToolCall, Turn, edit, read, shell, write
from sphynx.testing.scripted_model.tools import own_calls


def seen(*tools: Tool, text: str = "") -> Seen:
    turns = (Turn("user", text),)
    return Seen("chat", "/v1/chat/completions", "k", {}, {}, "m", True, turns, tools)


def tool(name: str, *required: str, free_form: bool = False, **properties: Any) -> Tool:
    return Tool(name, {"properties": properties, "required": list(required)}, free_form=free_form)


TEXT = {"type": "string"}
CODEX = (tool("exec_command", "cmd", cmd=TEXT), tool("apply_patch", free_form=True))
CLAUDE_BARE = (
    tool("Bash", "command", command=TEXT),
    tool("Edit", "file_path", file_path=TEXT, old_string=TEXT, new_string=TEXT),
    tool("Read", "file_path", file_path=TEXT),
)
GEMINI = (
    tool("run_shell_command", "command", command=TEXT),
    tool("write_file", file_path=TEXT, content=TEXT),
    tool(
        "replace",
        "file_path",
        "instruction",
        file_path=TEXT,
        old_string=TEXT,
        new_string=TEXT,
        instruction=TEXT,
    ),
    tool("read_file", file_path=TEXT),
)
OPENCODE = (
    tool("bash", "command", "description", command=TEXT, description=TEXT),
    tool("write", filePath=TEXT, content=TEXT),
    tool("edit", filePath=TEXT, oldString=TEXT, newString=TEXT),
    tool("read", filePath=TEXT),
)
PI = (
    tool(
        "bash", "command", "timeout", command=TEXT, timeout={"anyOf": [{"type": "number"}, {"type": "null"}]}
    ),
    tool("write", path=TEXT, content=TEXT),
    tool("edit", path=TEXT, edits={"type": "array"}),
    tool("read", path=TEXT),
)


@pytest.mark.parametrize(
    ("tools", "action", "name", "given"),
    [
        (CODEX, shell("ls"), "exec_command", {"cmd": "ls"}),
        (CODEX, write("a", "1\n"), "apply_patch", "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch"),
        (
            CODEX,
            edit("a", "1", "2"),
            "apply_patch",
            "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch",
        ),
        (CODEX, read("a"), "exec_command", {"cmd": "cat a"}),
        (CLAUDE_BARE, shell("ls"), "Bash", {"command": "ls"}),
        (CLAUDE_BARE, write("a", "1"), "Edit", {"file_path": "a", "old_string": "", "new_string": "1"}),
        (CLAUDE_BARE, read("a"), "Read", {"file_path": "a"}),
        (GEMINI, write("a", "1"), "write_file", {"file_path": "a", "content": "1"}),
        (
            GEMINI,
            edit("a", "1", "2"),
            "replace",
            {"file_path": "a", "old_string": "1", "new_string": "2", "instruction": "as the script says"},
        ),
        (OPENCODE, shell("ls"), "bash", {"command": "ls", "description": "as the script says"}),
        (OPENCODE, edit("a", "1", "2"), "edit", {"filePath": "a", "oldString": "1", "newString": "2"}),
        (PI, shell("ls"), "bash", {"command": "ls", "timeout": None}),
        (PI, edit("a", "1", "2"), "edit", {"path": "a", "edits": [{"oldText": "1", "newText": "2"}]}),
    ],
)
def test_an_action_is_said_in_the_agents_words(tools: Any, action: ToolCall, name: str, given: Any) -> None:
    (call,) = own_calls([action], seen(*tools))
    assert (call.name, call.input) == (name, given)


def test_without_a_patch_tool_codex_patches_through_its_shell() -> None:
    (call,) = own_calls([write("a", "1")], seen(CODEX[0]))
    assert isinstance(call.input, dict) and call.input["cmd"].startswith(
        "apply_patch <<'EOF'\n*** Begin Patch"
    )


@pytest.mark.parametrize(
    ("action", "inside"),
    [
        (shell("ls"), 'tools.exec_command({cmd: "ls"})'),
        (read("a"), 'tools.exec_command({cmd: "cat a"})'),
        (write("a", "1"), "tools.apply_patch("),
        (edit("a", "1", "2"), "tools.apply_patch("),
    ],
)
def test_an_agent_whose_only_tool_runs_code_gets_code(action: ToolCall, inside: str) -> None:
    (call,) = own_calls([action], seen(tool("exec", free_form=True)))
    assert call.name == "exec" and isinstance(call.input, str) and inside in call.input


def test_paths_become_absolute_for_a_tool_that_takes_no_others() -> None:
    path = {"type": "string", "description": "The absolute path to the file"}
    qwen = tool("write_file", file_path=path, content=TEXT)
    told = "I'm currently working in the directory: /somewhere/work\nHere is"
    (call,) = own_calls([write("a", "1")], seen(qwen, text=told))
    assert call.input == {"file_path": "/somewhere/work/a", "content": "1"}
    (call,) = own_calls([write("/b", "1")], seen(qwen, text=told))
    assert call.input == {"file_path": "/b", "content": "1"}
    (call,) = own_calls([write("a", "1")], seen(qwen))
    assert call.input == {"file_path": "a", "content": "1"}


def test_an_action_nobody_can_do_is_an_error_that_lists_the_tools() -> None:
    with pytest.raises(UsageError) as caught:
        own_calls([write("a", "1")], seen(tool("look"), tool("listen")))
    assert caught.value.hint == "its tools: look, listen"


def test_named_calls_stay_as_they_are() -> None:
    named = ToolCall("anything", {"a": 1})
    assert own_calls([named], seen()) == (named,)
    assert json.dumps(named.input) == '{"a": 1}'
