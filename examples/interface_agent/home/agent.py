"""An agent without a model: it uses whatever interface the trial gives it, and says what it found."""

import json
import os
import re
import subprocess
import urllib.request


def emit(tag, **fields):
    print(json.dumps({"_tag": tag, **fields}), flush=True)


def by_mcp(server, tool, arguments):
    """Start the server as ``SPHYNX_MCP_CONFIG`` says and call one tool."""
    with open(os.environ["SPHYNX_MCP_CONFIG"]) as file:
        entry = json.load(file)["mcpServers"][server]
    asked = [
        {"method": "initialize", "id": 1, "params": {"protocolVersion": "2025-06-18", "capabilities": {},
         "clientInfo": {"name": "interface-agent", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"method": "tools/call", "id": 2, "params": {"name": tool, "arguments": arguments}},
    ]  # fmt: skip
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in asked)
    argv = [entry["command"], *entry["args"]]
    done = subprocess.run(argv, input=lines, capture_output=True, text=True, check=True)
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    return answers[2]["result"]


prompt = os.environ["SPHYNX_PROMPT"]
emit("Started", sessionId="interface-1", model=os.environ["SPHYNX_MODEL"])
url = re.search(r"^catalog: (\S+)$", prompt, re.M)
if url:
    with urllib.request.urlopen(f"{url[1]}/items/fixture") as response:
        found = json.load(response)
else:
    result = by_mcp("users", "users_get", {"id": "user_fixture"})
    emit("ToolCall", callId="1", name="users_get", status="completed", output=json.dumps(result))
    done = subprocess.run(["users", "get", "--id", "user_fixture"], capture_output=True, text=True)
    emit("Command", command="users get --id user_fixture", exitCode=done.returncode, output=done.stdout)
    found = json.loads(done.stdout)
emit("Message", role="assistant", text=f"Its name is {found['name']}.")
emit("Finished", reason="done")
