"""The same 500 trials, checked by one Python validator each."""

from sphynx import Context, case, suite, variant


async def says_hello(ctx: Context) -> bool:
    return await ctx.read_text("hello.txt") == "hello"


def build(number: int):
    return suite(
        id=f"noop-python-{number}",
        prompt="Create hello.txt containing exactly hello",
        cases=[case(id=f"noop-python-{number}-{n}", validate=says_hello) for n in range(10)],
        variants=[variant(harness="command", model="none", profile={"name": "noop", "dir": "./agent"})],
        trials=10,
    )


one, two, three, four, five = (build(number) for number in range(1, 6))
