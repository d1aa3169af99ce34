"""``serve_eve`` starts, waits for, and ends ``eve dev``."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from eve_stand_in import install
from sphynx.errors import SphynxError
from sphynx.runner import create_emitter
from sphynx.runner.eve import run_eve, serve_eve

pytestmark = pytest.mark.anyio


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_it_waits_until_eve_answers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Failing health checks are waited out, output is mirrored to stderr, and closing ends the process."""
    began = time.monotonic()
    async with await serve_eve(cwd=install(tmp_path, ready_after=0.5, prints=["hé", "llo\n"])) as server:
        assert time.monotonic() - began > 0.5
        assert (
            await run_eve(emitter=create_emitter(write=print), prompt="p", url=server.url)
        ).status == "completed"
    assert not listening(server.port)
    assert json.loads((tmp_path / "argv.json").read_text()) == [
        "dev", "--no-ui", "--logs", "none", "--port", str(server.port),
    ]  # fmt: skip
    await server.close()
    assert "héllo" in capfd.readouterr().err


async def test_a_port_may_be_given_and_sessions_resumed(tmp_path: Path) -> None:
    """``port`` and ``resume`` reach eve's command line."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    async with await serve_eve(cwd=install(tmp_path), port=port, resume=True) as server:
        assert server.url == f"http://127.0.0.1:{port}"
    assert json.loads((tmp_path / "argv.json").read_text())[-3:] == ["--port", str(port), "--resume"]


async def test_not_installed(tmp_path: Path) -> None:
    """Without eve in the folder, the error says how to get it."""
    with pytest.raises(SphynxError, match=f"eve is not installed in {tmp_path}") as raised:
        await serve_eve(cwd=tmp_path)
    assert raised.value.hint is not None
    assert "npm install" in raised.value.hint


async def test_not_a_program(tmp_path: Path) -> None:
    """An eve that cannot be started is told with the system's reason."""
    install(tmp_path)
    (tmp_path / "node_modules/.bin/eve").chmod(0o644)
    with pytest.raises(SphynxError, match="cannot be started: Permission denied"):
        await serve_eve(cwd=tmp_path)


async def test_an_early_exit_says_what_eve_said(tmp_path: Path) -> None:
    """Exit code and the last five lines, without the banner."""
    install(tmp_path, exits=7, prints=["☰eve v0.80.1\n", *(f"line {n}\n\n" for n in range(6)), "no end"])
    with pytest.raises(SphynxError) as raised:
        await serve_eve(cwd=tmp_path)
    assert raised.value.message == "eve dev ended with exit code 7: line 2 line 3 line 4 line 5 no end"


async def test_an_early_exit_is_not_held_up_by_a_child(tmp_path: Path) -> None:
    """A process that still holds the output open costs two seconds at most."""
    install(tmp_path, exits=1, child=True)
    began = time.monotonic()
    with pytest.raises(SphynxError, match="exit code 1: it printed nothing"):
        await serve_eve(cwd=tmp_path)
    assert 1.5 < time.monotonic() - began < 6


async def test_it_gives_up(tmp_path: Path) -> None:
    """A server that never gets ready is ended, and the error names the limit."""
    install(tmp_path, ready_after=60, prints=["still building\n"])
    with pytest.raises(SphynxError, match="did not answer within 700 ms") as raised:
        await serve_eve(cwd=tmp_path, timeout_ms=700)
    assert raised.value.hint == "still building"
    port = int(json.loads((tmp_path / "argv.json").read_text())[5])
    assert not listening(port)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_close_kills_what_ignores_the_request(tmp_path: Path) -> None:
    """After the grace nothing is left."""
    server = await serve_eve(cwd=install(tmp_path, deaf=True))
    began = time.monotonic()
    await server.close(grace_s=0.3)
    assert 0.2 < time.monotonic() - began < 4
    assert not listening(server.port)


async def test_it_stays_in_our_process_group(tmp_path: Path) -> None:
    """What ends the trial's group ends eve too."""
    async with await serve_eve(cwd=install(tmp_path)) as server:
        assert os.getpgid(server.pid) == os.getpgid(0)
