"""A handler that never ends: a tool and a program say so after 30 seconds, and the mocks go on."""

from __future__ import annotations

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

MOCKS = """
def hang(given):
    time.sleep(300)

stuck = cli(path="stuck", commands=[
    command(path=["go"], input_schema=Wanted, options={"id": {}}, handler=hang),
    command(path=["on"], input_schema=Wanted, options={"id": {}}, handler=lambda given: given.id)])
tools = server(name="stuck", tools=[tool(name="go", input_schema=Wanted, handler=hang)])
"""
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "go", "arguments": {"id": "a"}}}
SAID = "the handler took longer than 30 s"


@pytest.mark.load
def test_it_is_given_up_after_its_time(start: Any) -> None:
    mocks = start(MOCKS, cli="[stuck]", mcp="[tools]")

    def by_tool() -> Any:
        asked = json.dumps(CALL) + "\n"
        # Its input stays open: a client that has left is no longer answered.
        with subprocess.Popen([mocks.mcp("stuck")], stdin=-1, stdout=-1, text=True) as client:
            assert client.stdin is not None and client.stdout is not None
            client.stdin.write(asked)
            client.stdin.flush()
            return json.loads(client.stdout.readline())

    begun = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        tool, program = pool.submit(by_tool), pool.submit(mocks.run, "stuck", "go", "--id", "a")
        assert mocks.run("stuck", "on", "--id", "meanwhile").stdout == '"meanwhile"\n'
        answer, done = tool.result(), program.result()
    assert 29 < time.monotonic() - begun < 50
    assert answer["result"]["isError"] and SAID in answer["result"]["content"][0]["text"]
    assert done.returncode == 1 and SAID in done.stderr
    for kind in ("cli", "mcp"):
        assert [call["error"] for call in mocks.calls(kind) if call.get("error")] == [SAID]
    assert mocks.run("stuck", "on", "--id", "after").returncode == 0
