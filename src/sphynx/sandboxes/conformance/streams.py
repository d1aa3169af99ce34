"""What commands write, and who gets it."""

from __future__ import annotations

import asyncio
import time

from sphynx.contracts import Sandbox
from sphynx.sandboxes.conformance.checks import check, sh


@check
async def streams_stay_apart(box: Sandbox) -> None:
    """Standard output and standard error do not mix."""
    done = await sh(box, "echo out; echo err >&2")
    assert (done.stdout, done.stderr) == (b"out\n", b"err\n")


@check
async def bytes_are_bytes(box: Sandbox) -> None:
    """NUL bytes and invalid UTF-8 arrive unchanged."""
    done = await sh(box, r"printf '\000\377\xfe\r\n\033[1m'")
    assert done.stdout == b"\x00\xff\xfe\r\n\x1b[1m"


@check
async def output_is_kept_up_to_a_limit(box: Sandbox) -> None:
    """``keep`` bytes are kept, the first ones, and all are counted, per stream."""
    done = await sh(box, "printf 0123456789; printf abcdef >&2", keep=4)
    assert (done.stdout, done.stderr) == (b"0123", b"abcd")
    assert (done.stdout_bytes, done.stderr_bytes) == (10, 6)


@check
async def keep_nothing(box: Sandbox) -> None:
    """``keep=0`` keeps nothing and still counts."""
    done = await sh(box, "printf 0123456789", keep=0)
    assert (done.stdout, done.stdout_bytes) == (b"", 10)


@check
async def large_output_is_counted(box: Sandbox) -> None:
    """Two hundred million bytes pass, however few are kept."""
    done = await sh(box, "head -c 200000000 /dev/zero", keep=1000)
    assert (done.exit_code, done.stdout_bytes, len(done.stdout)) == (0, 200_000_000, 1000)


@check
async def large_output_is_heard(box: Sandbox) -> None:
    """Of two hundred million bytes a callback gets every one, and memory holds few of them."""
    heard = most = 0

    def hear(chunk: bytes) -> None:
        nonlocal heard, most
        heard += len(chunk)
        most = max(most, len(chunk))

    done = await sh(box, "head -c 200000000 /dev/zero; echo over >&2", keep=1000, on_stdout=hear)
    assert (heard, done.stdout_bytes, done.stderr) == (200_000_000, 200_000_000, b"over\n")
    assert most < 20_000_000


@check
async def not_utf8_from_files(box: Sandbox) -> None:
    """Names and contents that are not UTF-8 pass through commands unchanged."""
    done = await sh(box, r"printf 'x\377' > $'n\377'; ls | tail -c 3; cat $'n\377'")
    assert done.stdout == b"n\xff\nx\xff"


@check
async def both_streams_large(box: Sandbox) -> None:
    """A command that fills both streams at once does not block."""
    done = await sh(box, "head -c 2000000 /dev/zero & head -c 2000000 /dev/zero >&2; wait", timeout_ms=60_000)
    assert (done.stdout_bytes, done.stderr_bytes) == (2_000_000, 2_000_000)


@check
async def chunks_arrive_while_it_runs(box: Sandbox) -> None:
    """Callbacks get output as it comes, not at the end."""
    seen: list[float] = []
    await sh(box, "echo first; sleep 0.8; echo second", on_stdout=lambda _: seen.append(time.monotonic()))
    assert seen[-1] - seen[0] > 0.4


@check
async def chunks_are_complete(box: Sandbox) -> None:
    """The chunks of a stream, put together, are all it wrote, also beyond ``keep``."""
    parts: list[bytes] = []
    done = await sh(box, "for i in 1 2 3; do head -c 100000 /dev/zero; done", keep=10, on_stdout=parts.append)
    assert len(b"".join(parts)) == done.stdout_bytes == 300_000


@check
async def callbacks_may_be_async(box: Sandbox) -> None:
    """An async callback is awaited, chunk after chunk, before the result is given."""
    parts: list[bytes] = []

    async def slowly(chunk: bytes) -> None:
        await asyncio.sleep(0.02)
        parts.append(chunk)

    await sh(box, "echo one; echo two >&2", on_stdout=slowly, on_stderr=slowly)
    assert sorted(b"".join(parts).split()) == [b"one", b"two"]


@check
async def slow_consumer_loses_nothing(box: Sandbox) -> None:
    """Output that waits for a slow async callback when the command ends still arrives."""
    parts: list[bytes] = []

    async def slowly(chunk: bytes) -> None:
        await asyncio.sleep(0.15)
        parts.append(chunk)

    await sh(box, "head -c 200000 /dev/zero; echo end", on_stdout=slowly)
    assert b"".join(parts).endswith(b"end\n")


@check
async def callback_errors_are_raised(box: Sandbox) -> None:
    """What a callback raises ends the command and is raised by ``exec``."""

    def failing(chunk: bytes) -> None:
        raise KeyError("from the callback")

    began = time.monotonic()
    try:
        await sh(box, "echo now; sleep 30", on_stdout=failing)
    except KeyError:
        pass
    else:
        raise AssertionError("the callback's error was lost")
    assert time.monotonic() - began < 15
