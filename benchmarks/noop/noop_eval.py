"""500 trials that do nothing worth measuring: five suites of ten cases and ten trials."""

from sphynx import case, command, suite, variant


def build(number: int):
    return suite(
        id=f"noop-{number}",
        prompt="Create hello.txt containing exactly hello",
        cases=[
            case(id=f"noop-{number}-{n}", validate=command('test "$(cat hello.txt)" = hello'))
            for n in range(10)
        ],
        variants=[variant(harness="command", model="none", profile={"name": "noop", "dir": "./agent"})],
        trials=10,
    )


one, two, three, four, five = (build(number) for number in range(1, 6))
