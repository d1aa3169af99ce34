"""The same users behind an MCP server and behind a program."""

from fixtures.users import GetUser, User, get_user, user

from sphynx.mocks.cli import cli, command
from sphynx.mocks.mcp import resource, server, tool

users_mcp = server(
    name="users",
    version="1.0.0",
    tools=[
        tool(
            name="users_get",
            description="Get a user by id",
            input_schema=GetUser,
            output_schema=User,
            handler=get_user,
        ),
    ],
    resources=[
        resource(name="current_user", uri="users://current", output_schema=User, handler=lambda: user),
    ],
)

users_cli = cli(
    path="users",
    version="1.0.0",
    commands=[
        command(
            path=["get"],
            description="Get a user by id",
            input_schema=GetUser,
            output_schema=User,
            options={"id": {"description": "User ID", "type": "string"}},
            handler=get_user,
        ),
    ],
)
