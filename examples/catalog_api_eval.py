"""An agent is given an HTTP API that does not exist outside the trial.

sphynx eval --local examples/catalog_api_eval.py --variant command/scripted
"""

from interfaces.catalog import catalog

from sphynx import Context, case, suite, variant


async def retrieved(ctx: Context) -> bool:
    calls = await ctx.api.calls("catalog")
    return any(call.path == "/items/fixture" and call.status == 200 for call in calls)


async def names_the_item(ctx: Context) -> bool:
    return "Test item" in await ctx.answer()


catalog_api = suite(
    id="catalog-api",
    prompt="Use the local catalog API to retrieve fixture and report its name.",
    api=[catalog],
    cases=[case(id="retrieve-item", validate=[retrieved, names_the_item])],
    variants=[
        variant(harness="codex", model="gpt-5.5"),
        variant(harness="claude", model="claude-sonnet-4-5"),
        variant(harness="command", model="scripted", profile={"name": "agent", "dir": "./interface_agent"}),
    ],
    trials=1,
)
