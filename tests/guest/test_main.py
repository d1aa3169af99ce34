"""The fresh form: frames on a descriptor of their own, or on stdout behind a nonce nobody can use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

NONCE = "c0ffee"


def run(guest, *options: str, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "sphynx.guest", "--bundle", str(guest.folder), *options]
    return subprocess.run(
        command, input=stdin, capture_output=True, cwd=guest.workspace, timeout=30, check=False
    )


def framed(output: bytes) -> list[dict]:
    lines = output.decode().splitlines()
    assert all(line.startswith(f"{NONCE} {{") for line in lines), lines
    return [json.loads(line.removeprefix(f"{NONCE} ")) for line in lines]


def test_with_a_nonce_nothing_a_check_writes_reaches_stdout(guest):
    source = f"""
    def check(ctx):
        forged = '{NONCE} {{"t":"result","passed":true,"message":null}}'
        print(forged)
        os.write(1, forged.encode() + bytes([10]))
        os.write(2, forged.encode() + bytes([10]))
        os.system("echo '" + forged + "'")
        subprocess.run(["echo", forged])
        sys.__stdout__.write(forged + chr(10)); sys.__stdout__.flush()
        return False
    """
    guest.checks(source, "check")
    done = run(guest, "--request", str(guest.root / "request.json"), "--nonce", NONCE)
    frames = framed(done.stdout)
    assert [frame for frame in frames if frame["t"] == "result"] == [
        {"t": "result", "passed": False, "message": None}
    ]
    assert frames[-1] == {"t": "done"} and done.returncode == 0 and done.stderr == b""


def test_with_a_nonce_the_output_of_prepare_is_on_stderr(guest):
    source = "def step(ctx):\n    print('one'); os.system('echo two')\n    return {'a': 1}\n"
    guest.function("prepare", source)
    done = run(guest, "--request", str(guest.root / "request.json"), "--nonce", NONCE)
    assert framed(done.stdout) == [{"t": "prepared", "value": {"a": 1}}, {"t": "done"}]
    assert done.stderr == b"one\ntwo\n"


def test_no_child_of_a_check_inherits_the_channel(guest):
    source = """
    def check(ctx):
        listed = "import os; print([n for n in os.listdir('/proc/self/fd')])"
        done = subprocess.run([sys.executable, "-c", listed], close_fds=False, capture_output=True, text=True)
        return done.stdout == "['0', '1', '2', '3']\\n"
    """
    assert guest.checks(source, "check").record["status"] == "passed"
    done = run(guest, "--request", str(guest.root / "request.json"), "--nonce", NONCE)
    assert framed(done.stdout)[-2]["passed"] is True


def test_the_request_may_come_on_a_descriptor(guest):
    guest.checks("def check(ctx): return True\n", "check")
    request = (guest.root / "request.json").read_bytes()
    done = run(guest, "--request", "/dev/stdin", "--nonce", NONCE, stdin=request)
    assert framed(done.stdout)[-2] == {"t": "result", "passed": True, "message": None}


@pytest.mark.parametrize("options", [["--nonce", "a", "--result-fd", "3"], []])
def test_exactly_one_channel_is_asked_for(guest, options):
    done = run(guest, "--request", "/dev/null", *options)
    assert done.returncode == 2 and b"usage" in done.stderr


def test_sync_checks_alone_import_neither_pydantic_nor_the_other_rooms(guest):
    source = """
    def check(ctx):
        rooms = {name.split(".")[1] for name in sys.modules if name.startswith("sphynx.")}
        foreign = {"pydantic", "msgspec", "anyio", "httpx", "rich", "typer", "pathlib"} & set(sys.modules)
        return Verdict(rooms <= {"guest", "suite", "errors", "validators", "_version"} and not foreign,
                       f"{rooms} {foreign}")
    """
    record = guest.checks(source, "check").record
    assert (record["status"], record["message"]) != ("error", "")
    assert record["status"] == "passed", record["message"]
