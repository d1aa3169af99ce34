"""The smallest real eval: an agent of your own writes a file, a check reads it.

sphynx eval --local examples/hello_eval.py
"""

from sphynx import Context, Verdict, case, suite, variant


async def says_hello(ctx: Context) -> Verdict:
    text = await ctx.read_text("hello.txt")
    return Verdict(text == "hello", f'hello.txt says "{text}", expected "hello"')


hello = suite(
    id="hello",
    prompt="Create {{file}} containing exactly hello",
    cases=[
        case(
            id="writes-hello",
            variables={"file": "hello.txt"},
            validate=says_hello,
            solution="printf hello > hello.txt && echo I wrote hello.txt",
        ),
    ],
    variants=[
        variant(harness="command", model="scripted", profile={"name": "hello-agent", "dir": "./hello_agent"})
    ],
    trials=3,
)
