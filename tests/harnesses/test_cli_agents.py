"""What all command line agents share, and Cursor and FX against stand-ins that are real processes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harnesses.stand_ins import archive_on_path
from sphynx.contracts import HarnessSetup, SandboxSpec
from sphynx.errors import StageError
from sphynx.harnesses.cli_agent import MAX_ARGUMENT, filled, prepend, read_object
from sphynx.harnesses.cursor import CursorHarness
from sphynx.harnesses.fx import FxHarness
from sphynx.harnesses.opencode import OpenCodeHarness
from sphynx.harnesses.qwen import QwenHarness
from sphynx.harnesses.workspace_changes import Snapshot, changed, look, relative
from sphynx.journal.events import Command, Event, FileChange, Message, Started
from sphynx.registry import load_harness
from sphynx.sandboxes.local.backend import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio

SESSION = "11111111-2222-3333-4444-555555555555"


def tool_line(name: str, given: Any, result: Any) -> dict[str, Any]:
    """A finished tool call as Cursor Agent prints it."""
    call = {name: {"args": given, "result": result}}
    return {"type": "tool_call", "subtype": "completed", "call_id": "c", "tool_call": call}


LINES: list[Any] = [
    {"type": "system", "subtype": "init", "session_id": SESSION, "model": "gpt-5"},
    tool_line("shellToolCall", {"command": "make"}, {"failure": {"exitCode": 2, "stdout": "no"}}),
    tool_line("writeToolCall", {"path": "HERE/by-tool.txt"}, {"success": {}}),
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
    {"type": "result", "subtype": "success", "is_error": False},
]
CURSOR = r"""#!/bin/sh
printf '%s\n' "$@" > "$HOME/arguments"; env > "$HOME/environment"; cat > "$HOME/input"
test -n "$CURSOR_API_KEY" || { echo "Authentication required" >&2; exit 1; }
echo one > by-tool.txt; echo two > by-shell.txt; rm -f old.txt
echo not json at all
sed "s,HERE,$PWD," <<'END'
LINES
END
""".replace("LINES", "\n".join(map(json.dumps, LINES)))
FX = r"""#!/bin/sh
printf '%s\n' "$@" > "$HOME/arguments"; env > "$HOME/environment"; cat > "$HOME/input"
test "$FX_MODEL" != gone || { echo '{"output":"","exit_code":1,"error":"ModelNotFound"}'; exit 1; }
echo thinking >&2
cat <<'END'
{"output":"Done.","exit_code":0,"model":"openai/gpt-5","session_id":"s1",
 "tool_calls":[{"name":"terminal","command_result":{"command":"make","exit_code":2}}]}
END
"""


@pytest.fixture
async def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    tools = tmp_path / "tools"
    tools.mkdir()
    archive_on_path(tools, "cursor-agent", CURSOR)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    backend = LocalBackend(LocalRoot(tmp_path / "local"), env={"PATH": f"{tools}:/usr/bin:/bin"})
    yield await backend.open(SandboxSpec(trial_id="t"))
    await backend.aclose()


def setup(model: str = "gpt-5", **fields: Any) -> HarnessSetup:
    given = {"system_prompt": None, "run": None, "env": {}, "timeout_ms": 20_000, **fields}
    return HarnessSetup(model=model, **given)


async def home(box: Any, name: str) -> str:
    return (await box.read(f"{box.home}/{name}")).decode()


async def test_cursor_is_installed_started_and_read(box: Any) -> None:
    await box.write("old.txt", b"x")
    await box.write("AGENTS.md", b"Mine.\n")
    harness, events = CursorHarness(), list[Event]()
    keys = {"CURSOR_API_KEY": "key-of-cursor"}
    shipped = ("workspace/.cursor/mcp.json",)
    await harness.prepare(box, setup(system_prompt="Be terse.", keys=keys, profile_files=shipped))
    result = await harness.turn(box, "Do it", session_id=None, timeout_ms=20_000, emit=events.append)
    assert (result.status, result.session_id, result.observed_model) == (
        "finished",
        SESSION,
        "gpt-5",
    )
    assert result.unread == ("not json at all",)
    assert [event.exit_code for event in events if isinstance(event, Command)] == [2]
    changes = [event.paths for event in events if isinstance(event, FileChange)]
    assert changes == [("by-tool.txt",), ("by-shell.txt", "old.txt")]
    expected = "-p --force --output-format stream-json --approve-mcps --model gpt-5 -- Do it"
    assert (await home(box, "arguments")).split("\n")[:-1] == [*expected.split(" ")[:-2], "Do it"]
    assert "CURSOR_API_KEY=key-of-cursor" in await home(box, "environment")
    assert (await box.read("AGENTS.md")).decode() == "Be terse.\n\nMine.\n"


async def test_a_second_turn_resumes_the_session_and_is_not_announced_again(box: Any) -> None:
    harness, events = CursorHarness(), list[Event]()
    await harness.prepare(box, setup(keys={"CURSOR_API_KEY": "k"}))
    first = await harness.turn(box, "One", session_id=None, timeout_ms=20_000, emit=events.append)
    await harness.turn(box, "Two", session_id=first.session_id, timeout_ms=20_000, emit=events.append)
    assert f"--resume\n{SESSION}\n--\nTwo\n" in await home(box, "arguments")
    assert len([event for event in events if isinstance(event, Started)]) == 1


async def test_a_long_prompt_is_never_an_argument(box: Any) -> None:
    harness = CursorHarness()
    await harness.prepare(box, setup(keys={"CURSOR_API_KEY": "k"}))
    prompt = "ä" * MAX_ARGUMENT
    result = await harness.turn(box, prompt, session_id=None, timeout_ms=20_000, emit=lambda event: None)
    assert result.status == "finished"
    assert await home(box, "input") == prompt
    assert "ä" not in await home(box, "arguments")


async def test_a_missing_key_is_told_in_the_programs_words(box: Any) -> None:
    harness = CursorHarness()
    await harness.prepare(box, setup())
    result = await harness.turn(box, "x", session_id=None, timeout_ms=20_000, emit=lambda event: None)
    assert (result.status, result.reason, result.exit_code) == ("failed", "Authentication required", 1)


async def test_fx_is_installed_started_and_read(box: Any, tmp_path: Path) -> None:
    archive_on_path(tmp_path / "tools", "fx", FX)
    await box.write(f"{box.home}/.fx/settings.json", b'{"theme": "dark"}')
    harness, events = FxHarness(), list[Event]()
    keys = {"AI_GATEWAY_API_KEY": "key-of-fx", "SPHYNX_FX_BASE_URL": "http://127.0.0.1:1/v4/ai"}
    await harness.prepare(box, setup("openai/gpt-5", system_prompt="Be terse.", keys=keys))
    result = await harness.turn(box, "Do it", session_id="s1", timeout_ms=20_000, emit=events.append)
    assert (result.status, result.session_id, result.usage) == ("finished", "s1", None)
    assert [event.command for event in events if isinstance(event, Command)] == ["make"]
    assert [event.text for event in events if isinstance(event, Message)] == ["Done."]
    assert (await home(box, "arguments")).split() == [
        "ask",
        "--json",
        "--yolo",
        "--no-color",
        "--resume-id",
        "s1",
    ]
    assert await home(box, "input") == "Do it"
    assert json.loads(await home(box, ".fx/settings.json")) == {"theme": "dark", "model": "openai/gpt-5"}
    assert await home(box, ".fx/AGENTS.md") == "Be terse.\n"
    environment = await home(box, "environment")
    assert "AI_GATEWAY_API_KEY=key-of-fx" in environment
    assert "FX_GATEWAY_BASE_URL=http://127.0.0.1:1/v4/ai" in environment


async def test_fx_with_a_login_has_no_key_in_its_environment(box: Any, tmp_path: Path) -> None:
    archive_on_path(tmp_path / "tools", "fx", FX)
    harness = FxHarness()
    await harness.prepare(box, setup("gone", keys={"SPHYNX_FX_AUTH_JSON": '{"t": 1}'}))
    result = await harness.turn(box, "x", session_id=None, timeout_ms=20_000, emit=lambda event: None)
    assert (result.status, result.cause, result.reason) == ("failed", "model", "ModelNotFound")
    assert await home(box, ".fx/chatgpt-auth.json") == '{"t": 1}'
    assert "AI_GATEWAY_API_KEY" not in await home(box, "environment")


async def test_a_turn_past_its_limit_is_timed_out(box: Any, tmp_path: Path) -> None:
    archive_on_path(tmp_path / "tools", "fx", "#!/bin/sh\nsleep 60\n")
    harness = FxHarness()
    await harness.prepare(box, setup())
    result = await harness.turn(box, "x", session_id=None, timeout_ms=300, emit=lambda event: None)
    assert (result.status, result.cause) == ("timed_out", "limit")


async def test_an_agent_that_was_not_prepared_says_so(box: Any) -> None:
    with pytest.raises(StageError, match="not prepared"):
        await CursorHarness().turn(box, "x", session_id=None, timeout_ms=1, emit=lambda event: None)


# -- keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "model", "name"),
    [
        ("codex", "gpt-5.5", "OPENAI_API_KEY"),
        ("claude", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini", "gemini-2.5-flash", "GEMINI_API_KEY"),
        ("qwen", "qwen3-coder-plus", "DASHSCOPE_API_KEY"),
        ("cursor", "gpt-5", "CURSOR_API_KEY"),
        ("fx", "openai/gpt-5", "AI_GATEWAY_API_KEY"),
        ("opencode", "anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("opencode", "google/gemini-2.5-flash", "GEMINI_API_KEY"),
        ("pi", "xai/grok", "XAI_API_KEY"),
        ("pi", "mine/local", "OPENAI_API_KEY"),
        ("pi", "local", "OPENAI_API_KEY"),
    ],
)
def test_each_agent_wants_its_own_key_and_sees_no_other(agent: str, model: str, name: str) -> None:
    factory = load_harness(agent)
    variant = SimpleNamespace(harness=agent, model=model)
    (need,) = factory.needs(variant, {name: " ", "OTHER": "x"})
    assert (need["name"], need["found"]) == (name, False) and agent in need["why"]
    (need,) = factory.needs(variant, {name: "sk"})
    assert need["found"] is True
    everything = {"E2B_API_KEY": "a", "GROQ_API_KEY": "b", name: "sk", factory.login_name(): "{}"}
    assert factory.keys(variant, everything) == {name: "sk", factory.login_name(): "{}"}


def test_a_login_will_do_instead_of_a_key() -> None:
    variant = SimpleNamespace(harness="codex", model="gpt-5.5")
    (need,) = load_harness("codex").needs(variant, {"SPHYNX_CODEX_AUTH_JSON": "{}"})
    assert need["found"] is True and "--use-login" in need["why"]


def test_qwen_takes_its_known_base_url_and_ours_goes_first() -> None:
    env = {"DASHSCOPE_API_KEY": "k", "QWEN_BASE_URL": "http://a", "SPHYNX_QWEN_BASE_URL": "http://b"}
    variant = SimpleNamespace(harness="qwen", model="m")
    assert QwenHarness.keys(variant, env) == env
    assert next(iter(QwenHarness.setting_names)) == "SPHYNX_QWEN_BASE_URL"


# -- files ------------------------------------------------------------------------------------------------


def test_the_profiles_own_opencode_settings_are_kept() -> None:
    box: Any = SimpleNamespace(home="/h")
    given = json.dumps({"instructions": ["mine.md"], "provider": {"anthropic": {"models": {"x": {}}}}})
    asked = setup(
        "anthropic/m",
        system_prompt="Be terse.",
        env={"OPENCODE_CONFIG_CONTENT": given},
        keys={"SPHYNX_OPENCODE_BASE_URL": "http://a/v1"},
    )
    launch = OpenCodeHarness().launch(box, asked, None)
    config = json.loads(launch.env["OPENCODE_CONFIG_CONTENT"])
    assert config["instructions"] == ["mine.md", "/h/.sphynx/system.md"]
    assert config["provider"]["anthropic"] == {"models": {"x": {}}, "options": {"baseURL": "http://a/v1"}}
    assert "--pure" in launch.arguments
    plugins = setup("anthropic/m", profile_files=("workspace/.opencode/plugin/a.js",))
    assert "--pure" not in OpenCodeHarness().launch(box, plugins, None).arguments
    broken = setup("anthropic/m", env={"OPENCODE_CONFIG_CONTENT": "{"})
    with pytest.raises(StageError, match="OPENCODE_CONFIG_CONTENT is not JSON"):
        OpenCodeHarness().launch(box, broken, None)


async def test_settings_files_that_are_no_objects_are_told_by_name(box: Any) -> None:
    assert await read_object(box, "none.json") == {}
    for text, said in ((b"{", "bad.json is not JSON"), (b"[1]", "bad.json is not a JSON object")):
        await box.write("bad.json", text)
        with pytest.raises(StageError, match=said):
            await read_object(box, "bad.json")


async def test_a_text_goes_before_what_a_file_holds(box: Any) -> None:
    await prepend(box, "a.md", None)
    await prepend(box, "a.md", "one\n\n")
    await prepend(box, "a.md", "two")
    assert await box.read("a.md") == b"two\n\none\n"


def test_settings_are_joined_at_every_depth() -> None:
    assert filled({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 9}, "e": 4}) == {
        "a": {"b": 9, "c": 2}, "d": 3, "e": 4
    }  # fmt: skip
    assert filled({"a": 1}, {"a": {"b": 1}}) == {"a": {"b": 1}}


async def test_a_look_at_a_workspace_sees_every_kind_of_change(box: Any) -> None:
    names = ("kept", "grown", "gone", "odd name\nwith a line end", "deep/er/file")
    for name in names:
        await box.write(name, b"x")
    before = await look(box)
    assert before is not None and set(before.files) == set(names)
    script = (
        "echo more >> grown; rm gone; ln -s kept link; mkdir node_modules .git; touch node_modules/a .git/b"
    )
    await box.exec(["/bin/sh", "-c", script])
    after = await look(box)
    assert after is not None
    assert changed(before, after) == ["gone", "grown", "link"]


async def test_a_workspace_that_cannot_be_looked_at_is_not_compared(box: Any) -> None:
    await box.exec(["/bin/sh", "-c", 'rmdir "$PWD"'])
    assert await look(box) is None


def test_reported_paths_become_relative_to_the_workspace() -> None:
    roots = ("/w", "/real/w")
    paths = ("/w/a", "/real/w/b/c", "./d", "e", "/elsewhere/f")
    assert [relative(path, roots) for path in paths] == ["a", "b/c", "d", "e", "/elsewhere/f"]
    assert changed(Snapshot("/w", {"a": b"1"}), Snapshot("/w", {"a": b"1"})) == []
