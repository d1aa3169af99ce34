"""What every harness and every transcript reader must do, as checks anybody's own can be put through.

A harness: say how to make one and what to ask it, and run the checks in a sandbox of your choice::

    SUBJECT = Subject(MyHarness, prompt="say hello", setup={"model": "m", "keys": {"MY_KEY": "k"}})

    @pytest.mark.parametrize("check", HARNESS_CHECKS, ids=lambda check: check.name)
    async def test_my_harness(check):
        await run(check, SUBJECT, MyBackend())

A reader: hand over a recorded transcript of a turn that went well::

    RECORDING = Recording(MyReader, lines=Path("turn.jsonl").read_bytes().splitlines())

    @pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.name)
    def test_my_reader(check):
        check.body(RECORDING)
"""

from sphynx.harnesses.conformance import agents, transcripts
from sphynx.harnesses.conformance.agents import run
from sphynx.harnesses.conformance.checks import (
    HARNESS_CHECKS,
    READER_CHECKS,
    HarnessCheck,
    ReaderCheck,
    Recording,
    Subject,
    Trial,
)

__all__ = [
    "HARNESS_CHECKS",
    "READER_CHECKS",
    "HarnessCheck",
    "ReaderCheck",
    "Recording",
    "Subject",
    "Trial",
    "agents",
    "run",
    "transcripts",
]
