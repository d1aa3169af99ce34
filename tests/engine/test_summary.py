"""A check asks what the agent did."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project

SUITE = """
    from sphynx import Summary

    def agent(turn, emit):
        emit.command(command="pytest", exit_code=1, output="1 failed")
        emit.tool_call(name="Read", input={"file_path": "src/a.py"}, output="...", status="completed")
        emit.tool_call(name="WebFetch", input={"url": "https://example.com"}, error="offline", status="error")
        emit.file_change([turn.workspace + "/src/a.py"])
        emit.usage(input_tokens=7, output_tokens=2, cache_read_tokens=5)
        return "fixed"

    async def read_before_writing(ctx):
        found: Summary = await ctx.summary()
        assert [(c.command, c.exit_code) for c in found.shell_commands] == [("pytest", 1)]
        assert (found.failed_commands, found.total_turns, found.thinking_blocks) == (1, 1, 0)
        assert set(found.files_modified) <= set(found.files_read), "it wrote what it never read"
        assert found.tool_calls["file_read"] == 1 and found.tool_calls["web_fetch"] == 1
        assert found.total_tool_calls == 3 and list(found.web_fetches) == []
        assert list(found.errors) == ["WebFetch: offline"]
        assert (found.tokens.input, found.tokens.output, found.tokens.cache_read) == (7, 2, 5)
        return True

    def plain(ctx):
        kinds = [event.kind for event in ctx.turns()[0].events if event._tag in ("toolCall", "fileChange")]
        assert kinds == ["file_read", "web_fetch", None], kinds
        return ctx.summary().tool_calls.get("shell") == 1

    demo = suite(id="demo", prompt="p", variants=[variant(harness=agent, model="m")],
                 cases=[case(id="one", validate=[read_before_writing, plain])])
"""


@pytest.mark.anyio
async def test_checks_read_commands_files_tools_errors_and_tokens(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.suite(SUITE)
    trial = await project.trial()
    assert trial.status == "passed", [item["message"] for item in trial.validations]
