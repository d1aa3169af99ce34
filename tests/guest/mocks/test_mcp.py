"""MCP mocks, asked by the official client."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

pytestmark = pytest.mark.anyio

SERVER = """
class Hit(TypedDict):
    n: int

def find(wanted: Wanted, ctx) -> User:
    ctx.log({"asked": wanted.id, "password": "hunter2"})
    ctx.state["found"] = ctx.state.get("found", 0) + 1
    if wanted.id == "nobody":
        raise LookupError("User not found: nobody")
    return User(wanted.id, "Ada")

async def slow(wanted):
    await asyncio.sleep(0.05)
    return {"id": wanted.id, "name": "slow"}

def hang(wanted, ctx):
    ctx.signal.wait(60)

def wrong(wanted):
    return {"id": 7}

def big():
    return "x" * 5_000_000

def unjson():
    return object()

def count(wanted, ctx):
    return ctx.state["found"]

users = server(name="users", version="1.2.3", instructions="Ask for users.", tools=[
    tool(name="find", description="Find a user", input_schema=Wanted, output_schema=User, handler=find),
    tool(name="slow", input_schema=Wanted, output_schema=User, handler=slow),
    tool(name="hang", input_schema=Wanted, handler=hang),
    tool(name="wrong", input_schema=Wanted, output_schema=User, handler=wrong),
    tool(name="big", handler=big),
    tool(name="unjson", handler=unjson),
    tool(name="changes", input_schema={"type": "object"}, handler=lambda given: given.clear() or given),
    tool(name="names", output_schema=list[str], handler=lambda: ["Ada"]),
    tool(name="count", input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
         output_schema={"type": "integer"}, handler=count),
    tool(name="flaky", input_schema=Wanted, output_schema=User, handler=fail_once(find, error="later")),
    tool(name="late", input_schema=Wanted, output_schema=User, handler=delay(find, 0.1)),
], resources=[
    resource(name="current_user", uri="users://current", description="The user", output_schema=User,
             handler=lambda: User("u", "Ada")),
    resource(name="readme", uri="users://readme", mime_type="text/markdown", handler=lambda ctx: "# Users"),
    resource(name="gone", uri="users://gone", handler=lambda: 1 / 0),
    resource(name="shy", uri="users://shy", handler=fail_once(lambda: "here")),
])
"""


@pytest.fixture(scope="module")
def mocks(start: Any) -> Any:
    return start(SERVER, mcp="[users]", fixtures='{"found": 10}')


@asynccontextmanager
async def session(mocks: Any) -> AsyncIterator[ClientSession]:
    parameters = StdioServerParameters(command=mocks.mcp("users"), args=[])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as client:
        await client.initialize()
        yield client


def texts(result: Any) -> str:
    return "".join(part.text for part in result.content)


async def test_the_client_learns_name_version_tools_and_resources(mocks: Any) -> None:
    """The newer client, which asks for a discovery first, falls back to the handshake."""
    async with Client(stdio_client(StdioServerParameters(command=mocks.mcp("users"), args=[]))) as client:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("users", "1.2.3")
        assert client.instructions == "Ask for users."
        assert client.protocol_version == "2025-11-25"
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["find"].description == "Find a user"
        assert tools["find"].input_schema["type"] == "object"
        assert tools["find"].input_schema["required"] == ["id"]
        assert tools["find"].output_schema is not None
        assert set(tools["find"].output_schema["properties"]) == {"id", "name"}
        assert tools["names"].output_schema is not None
        assert tools["names"].output_schema["properties"]["result"]["type"] == "array"
        assert tools["big"].output_schema is None
        listed = (await client.list_resources()).resources
        assert [(item.name, str(item.uri), item.mime_type) for item in listed][:2] == [
            ("current_user", "users://current", "application/json"),
            ("readme", "users://readme", "text/markdown"),
        ]
        assert (await client.list_resource_templates()).resource_templates == []
        assert (await client.call_tool("names", {})).structured_content == {"result": ["Ada"]}


async def test_a_tool_answers_with_text_and_structure(mocks: Any) -> None:
    async with session(mocks) as client:
        result = await client.call_tool("find", {"id": "u1"})
        assert not result.is_error
        assert texts(result) == '{"id":"u1","name":"Ada"}'
        assert result.structured_content == {"id": "u1", "name": "Ada"}
        await client.send_ping()
    record = [call for call in mocks.calls("mcp") if call["input"] == {"id": "u1"}][-1]
    assert record["output"] == {"id": "u1", "name": "Ada"}
    assert (record["server"], record["kind"], record["name"]) == ("users", "tool", "find")
    assert json.loads(record["logs"][0]["text"]) == {"asked": "u1", "password": "[redacted]"}
    assert record["durationMs"] >= 0 and record["startedAt"] > 1e12


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("find", {"id": "nobody"}, "User not found: nobody"),
        ("find", {"id": 7}, "users find: input id: expected str, got int"),
        ("find", {}, "users find: input object missing required field id"),
        ("wrong", {"id": "u"}, "users wrong: output id: expected str, got int"),
        ("unjson", {}, "users unjson: output cannot be JSON"),
    ],
)
async def test_what_goes_wrong_is_a_tool_error(mocks: Any, tool: str, arguments: Any, said: str) -> None:
    """The agent is told which tool and which field; the log has it too; nothing voids the trial."""
    async with session(mocks) as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert said in texts(result)
    assert said in mocks.calls("mcp")[-1]["error"]
    assert mocks.broken() == []


async def test_a_handler_cannot_change_what_is_logged_of_its_input(mocks: Any) -> None:
    async with session(mocks) as client:
        assert (await client.call_tool("changes", {"a": 1})).structured_content == {}
        result = await client.call_tool("big", {"size": 1})
        assert texts(result) == "users big: input size: is not known, there is no input"
    assert mocks.calls("mcp")[-2]["input"] == {"a": 1}


async def test_a_large_result_reaches_the_agent_whole_and_the_log_cut(mocks: Any) -> None:
    async with session(mocks) as client:
        assert len(texts(await client.call_tool("big", {}))) == 5_000_000
    output = mocks.calls("mcp")[-1]["output"]
    assert (len(output["text"]), output["format"], output["state"], output["truncated"]) == (
        64_000,
        "json",
        "captured",
        True,
    )


async def test_a_tool_that_hangs_is_given_up_when_the_client_leaves(mocks: Any) -> None:
    async with session(mocks) as client:
        with anyio.move_on_after(0.3) as scope:
            await client.call_tool("hang", {"id": "u"})
        assert scope.cancelled_caught
        assert not (await client.call_tool("find", {"id": "after"})).is_error
    mocks.wait(lambda: any(call["name"] == "hang" for call in mocks.calls("mcp")))
    record = next(call for call in mocks.calls("mcp") if call["name"] == "hang")
    assert record["error"] == "the call was given up"


async def test_fifty_calls_at_once_overlap_and_are_all_logged(mocks: Any) -> None:
    before = len(mocks.calls("mcp"))
    found: list[str] = []

    async def ask(client: ClientSession, number: int) -> None:
        found.append(texts(await client.call_tool("slow", {"id": f"u{number}"})))

    async with session(mocks) as client:
        with anyio.fail_after(10):
            begun = anyio.current_time()
            async with anyio.create_task_group() as group:
                for number in range(50):
                    group.start_soon(ask, client, number)
            assert anyio.current_time() - begun < 2.5
    assert len(set(found)) == 50
    assert len(mocks.calls("mcp")) == before + 50


async def test_resources_are_read_and_logged(mocks: Any) -> None:
    async with session(mocks) as client:
        content = (await client.read_resource("users://current")).contents[0]
        assert (content.text, content.mime_type) == ('{"id":"u","name":"Ada"}', "application/json")  # pyright: ignore
        assert (await client.read_resource("users://readme")).contents[0].text == "# Users"  # pyright: ignore
        assert mocks.calls("mcp")[-1]["input"] == {"uri": "users://readme"}
        for uri in ("users://gone", "users://nowhere"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        assert mocks.calls("mcp")[-1]["error"] == "division by zero"
        with pytest.raises(MCPError, match="temporarily unavailable"):
            await client.read_resource("users://shy")
        assert (await client.read_resource("users://shy")).contents[0].text == "here"  # pyright: ignore


async def test_state_is_one_for_all_clients_and_wrappers_fail_and_wait(mocks: Any) -> None:
    """The case's fixtures began it; a second client sees what the first did."""
    async with session(mocks) as client:
        await client.call_tool("find", {"id": "u"})
        first = await client.call_tool("flaky", {"id": "u"})
        assert first.is_error and texts(first) == "later"
    async with session(mocks) as client:
        assert not (await client.call_tool("flaky", {"id": "u"})).is_error
        begun = anyio.current_time()
        assert not (await client.call_tool("late", {"id": "u"})).is_error
        assert anyio.current_time() - begun >= 0.1
        counted = (await client.call_tool("count", {})).structured_content
        assert counted is not None and counted["result"] > 12


def by_hand(mocks: Any, *lines: str) -> list[Any]:
    done = subprocess.run(
        [mocks.mcp("users")], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2031-01-01", "2025-11-25"),
    ],
)
async def test_protocol_versions_are_negotiated(mocks: Any, asked: str, answered: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    (message,) = by_hand(
        mocks, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    )
    assert message["result"]["protocolVersion"] == answered


async def test_nonsense_is_answered_by_the_protocols_errors(mocks: Any) -> None:
    """Bad JSON, no JSON-RPC, unknown methods and tools, lists of messages, blank lines."""
    told = by_hand(
        mocks,
        "{nonsense",
        "",
        '{"id": 1}',
        '{"jsonrpc": "2.0", "id": 2, "method": "no/such"}',
        '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "none"}}',
        '{"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": [1]}',
        '[{"jsonrpc": "2.0", "id": 5, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"}]',
        '{"jsonrpc": "2.0", "id": 6, "method": "logging/setLevel", "params": {"level": "debug"}}',
    )
    codes = {(message["id"], message.get("error", {}).get("code")) for message in told}
    assert codes == {
        (None, -32700), (None, -32600), (2, -32601), (3, -32602), (4, -32602), (5, None), (6, None)
    }  # fmt: skip


async def test_the_programs_say_when_nobody_serves_them_any_more(start: Any) -> None:
    mocks = start("one = cli(path='one', commands=[command(path=['go'], handler=lambda: 1)])", cli="[one]")
    mocks.process.kill()
    mocks.process.wait()
    done = mocks.run("one", "go")
    assert done.returncode == 1
    assert done.stderr.startswith("one does not answer: ")
    assert os.path.exists(mocks.home / ".local/bin/one")
