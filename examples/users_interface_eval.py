"""An agent is given an MCP server and a program that do not exist outside the trial, and must use one.

sphynx eval --local examples/users_interface_eval.py --variant command/scripted
"""

from fixtures.users import user
from interfaces.users import users_cli, users_mcp

from sphynx import Context, Verdict, case, suite, variant


async def asked_for_the_user(ctx: Context) -> Verdict:
    calls = [*await ctx.cli.calls("users"), *await ctx.mcp.calls("users")]
    asked = any(call.input == {"id": user.id} and call.output for call in calls)
    return Verdict(asked, f"none of {len(calls)} calls got {user.id}")


async def names_the_user(ctx: Context) -> bool:
    return user.name in await ctx.answer()


users_interface = suite(
    id="users-interface",
    prompt="Use an available interface to retrieve user_fixture and report its name.",
    mcp=[users_mcp],
    cli=[users_cli],
    cases=[case(id="gets-user", validate=[asked_for_the_user, names_the_user])],
    variants=[
        variant(harness="codex", model="gpt-5.5"),
        variant(harness="claude", model="claude-sonnet-4-5"),
        variant(harness="command", model="scripted", profile={"name": "agent", "dir": "./interface_agent"}),
    ],
    trials=1,
)
