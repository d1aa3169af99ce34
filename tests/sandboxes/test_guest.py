"""Functions of an eval file run inside the sandbox: forked warm where that is allowed, else fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandboxes.bundles import bundle
from sandboxes.conftest import ENV
from sandboxes.processes import marked, wait_until_gone
from sphynx.contracts import BundleRef, ExecResult, GuestRequest, SandboxSpec
from sphynx.errors import CompileError, StageError
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local.box import LocalBox
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio

ORDINARY = """
    import os, pathlib

    async def prepare(ctx):
        await ctx.write_text("hello.txt", "hello")
        print("preparing in", os.getcwd())
        return {"key": "prepared"}

    async def reads(ctx):
        print("reading")
        return await ctx.read_text("hello.txt") == "hello" and ctx.prepared == {"key": "prepared"}

    def surroundings(ctx):
        assert os.environ["HOME"].endswith(("/home", "/home/agent")), os.environ["HOME"]
        assert os.environ["ADDED"] == "of the request" and os.environ["GIVEN"] == "of the spec"
        assert "SECRET_OF_THE_HOST" not in os.environ
        assert pathlib.Path("hello.txt").exists()
        return True

    def fails(ctx):
        assert 1 == 2, "one is not two"

    checks = [reads, surroundings]
"""
FORMS = ["warm", "fresh", "groups", pytest.param("isolated", marks=pytest.mark.isolate)]
STARTS_A_THREAD = (
    "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
)


class Guest:
    """One open trial of one form, and everything its guest said."""

    def __init__(self, backend: LocalBackend, box: LocalBox) -> None:
        self.backend = backend
        self.box = box
        self.frames: list[dict[str, Any]] = []
        self.output = b""

    def _print(self, chunk: bytes) -> None:
        self.output += chunk

    async def run(self, op: Any, timeout_ms: int = 60_000, **payload: Any) -> ExecResult:
        self.frames, self.output = [], b""
        request = GuestRequest(op, 0, "one", payload, {"ADDED": "of the request"}, timeout_ms)
        return await self.box.guest(request, on_frame=self.frames.append, on_output=self._print)

    @property
    def statuses(self) -> dict[str, str]:
        records = [frame["record"] for frame in self.frames if frame["t"] == "validation"]
        return {record["name"]: record["status"] for record in records}


async def opened(root: LocalRoot, form: str, ref: BundleRef) -> Guest:
    backend = LocalBackend(root, env=ENV, bundle=ref, supervised=form != "groups")
    await backend.start()
    box = await backend.open(SandboxSpec("t", isolate=form == "isolated", env={"GIVEN": "of the spec"}))
    return Guest(backend, box)


@pytest.mark.parametrize("form", FORMS)
async def test_prepare_and_checks(root: LocalRoot, tmp_path: Path, form: str) -> None:
    """Prepare and checks run in the workspace with the trial's own variables; what they print arrives."""
    source = ORDINARY if form != "fresh" else "    " + STARTS_A_THREAD + ORDINARY
    guest = await opened(root, form, bundle(tmp_path / "bundle", source))
    done = await guest.run("prepare", cached=False, api={})
    assert done.exit_code == 0, guest.output
    assert guest.frames[-2:] == [{"t": "prepared", "value": {"key": "prepared"}}, {"t": "done"}]
    assert guest.output.decode() == f"preparing in {guest.box.workspace}\n"
    done = await guest.run("checks", prepared={"key": "prepared"})
    assert done.exit_code == 0, (guest.output, guest.frames)
    assert guest.frames[-2] == {"t": "result", "passed": True, "message": None}, guest.frames[-3:]
    assert guest.statuses == {"reads": "passed", "surroundings": "passed"}
    await guest.backend.aclose()


async def why_not_warm(root: LocalRoot, ref: BundleRef) -> str:
    backend = LocalBackend(root, env=ENV)
    try:
        zygote = await backend._ready(ref)
        assert zygote is not None
        assert zygote.warm == (zygote.why_not_warm == "")
        return zygote.why_not_warm
    finally:
        await backend.aclose()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("checks = []", ""),
        (STARTS_A_THREAD, "thread"),
        ("import subprocess; left = subprocess.Popen(['sleep', '600'])", "process"),
        ("import asyncio; asyncio._set_running_loop(asyncio.new_event_loop())", "loop"),
    ],
)
async def test_when_a_bundle_is_kept_warm(root: LocalRoot, tmp_path: Path, source: str, why: str) -> None:
    """An import that leaves a thread, a process or a running loop is not forked, and why is known."""
    found = await why_not_warm(root, bundle(tmp_path / "bundle", source))
    assert why in found if why else found == ""


def test_not_warm_under_coverage(root: LocalRoot, tmp_path: Path) -> None:
    """Under a tracer every trial gets a fresh interpreter."""
    program = (
        "import sys; sys.settrace(lambda *a: None); from sphynx.sandboxes.local import warmth; "
        "print(warmth.tracing())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "debugger or a coverage tool" in done.stdout


IMPORTS_THAT_FAIL = [
    ("import os; os.environ['NOT_THERE']", "evals/odd_eval.py:2", "NOT_THERE"),
    ("import surely_not_installed", "evals/odd_eval.py:2", "surely_not_installed"),
    ("x = 1\ny = (", "evals/odd_eval.py", "never closed"),
    ("raise SystemExit(3)", "evals/odd_eval.py:2", "SystemExit"),
    ("import broken_sibling", "evals/broken_sibling.py:2", "division by zero"),
]


@pytest.mark.parametrize(("source", "place", "what"), IMPORTS_THAT_FAIL)
@pytest.mark.parametrize("supervised", [True, False])
async def test_an_import_that_fails_is_told_once(
    root: LocalRoot, tmp_path: Path, source: str, place: str, what: str, supervised: bool
) -> None:
    """Before any trial, as one error that names the author's own file and line."""
    ref = bundle(tmp_path / "bundle", source, broken_sibling="\n1 / 0\n")
    backend = LocalBackend(root, env=ENV, supervised=supervised)
    with pytest.raises(CompileError) as told:
        await backend.start(ref)
    assert place in told.value.message and what in told.value.message
    assert str(tmp_path) not in told.value.message
    await backend.aclose()


async def test_the_import_sees_nothing_of_the_machine(root: LocalRoot, tmp_path: Path) -> None:
    """It runs in an empty folder, with neither the host's variables nor the trial's."""
    source = """
        import os
        assert os.listdir() == [], os.listdir()
        assert "SECRET_OF_THE_HOST" not in os.environ
        assert not [name for name in os.environ if name.startswith(("PYTHON", "SPHYNX"))], dict(os.environ)
    """
    assert await why_not_warm(root, bundle(tmp_path / "bundle", source)) == ""


ODD = """
    import os, subprocess, sys, threading, time

    def loops(ctx):
        while True: pass

    def leaves(ctx):
        os._exit(0)

    def prints(ctx):
        sys.stdout.write("printed "); os.write(1, b"written "); os.system("echo run")
        print('{"t": "result", "passed": true}'); print('{"t": "done"}', file=sys.stderr)
        return False

    def thread(ctx):
        threading.Thread(target=time.sleep, args=(600,)).start()
        return True

    def daemon(ctx):
        subprocess.Popen(["setsid", "sleep", "300.515151"])
        return True

    def status(ctx):
        return subprocess.call(["bash", "-c", "exit 3"]) == 3

    def no_descriptors(ctx):
        listed = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split()
        assert set(listed) <= {"0", "1", "2", "3"}, listed
        return True

    def changes(ctx):
        os.environ["LEFT_BEHIND"] = "1"; os.chdir("/"); os.umask(0o777); sys.modules["os"].left_behind = True
        return True

    def unchanged(ctx):
        assert "LEFT_BEHIND" not in os.environ and os.getcwd() != "/" and not hasattr(os, "left_behind")
        return True

    checks = [loops, leaves, prints, thread, daemon, status, no_descriptors, changes, unchanged]
"""
NAMES = ["loops", "leaves", "prints", "thread", "daemon", "status", "no_descriptors", "changes", "unchanged"]


async def one_check(guest: Guest, name: str, timeout_ms: int = 60_000) -> ExecResult:
    checks = [{"index": NAMES.index(name), "name": name, "timeout_ms": 300_000}]
    return await guest.run("checks", timeout_ms, checks=checks)


@pytest.fixture(params=FORMS[:2] + FORMS[3:])
async def odd(root: LocalRoot, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    head = "    " + STARTS_A_THREAD if request.param == "fresh" else ""
    guest = await opened(root, request.param, bundle(tmp_path / "bundle", head + ODD))
    yield guest
    await guest.backend.aclose()


async def test_odd_checks(odd: Guest) -> None:
    """Endless loops, ``os._exit``, threads and daemons of a check neither hang the run nor pass by chance."""
    done = await one_check(odd, "loops", 700)
    assert (done.exit_code, done.timed_out) == (137, True)
    assert "done" not in {frame["t"] for frame in odd.frames}

    done = await one_check(odd, "leaves")
    assert "result" not in {frame["t"] for frame in odd.frames}

    done = await one_check(odd, "thread")
    assert (done.exit_code, odd.frames[-1]) == (0, {"t": "done"})

    done = await one_check(odd, "daemon")
    assert done.exit_code == 0
    assert len(marked("300.515151")) == 1
    await odd.box.close()
    assert wait_until_gone("300.515151", 0.5) == []


async def test_output_is_not_a_verdict(odd: Guest) -> None:
    """What a check prints, in whatever way, is evidence: frames come over their own channel only."""
    await one_check(odd, "prints")
    results = [frame for frame in odd.frames if frame["t"] == "result"]
    assert [frame["passed"] for frame in results] == [False]


async def test_children_of_checks(odd: Guest) -> None:
    """Exit codes of a check's own processes are theirs, and those inherit none of our descriptors."""
    await one_check(odd, "status")
    assert odd.statuses == {"status": "passed"}
    await one_check(odd, "no_descriptors")
    assert odd.statuses == {"no_descriptors": "passed"}, odd.frames


async def test_requests_do_not_meet(odd: Guest) -> None:
    """What one request changes in its process, the next one does not see."""
    await one_check(odd, "changes")
    assert odd.statuses == {"changes": "passed"}
    await one_check(odd, "unchanged")
    assert odd.statuses == {"unchanged": "passed"}, odd.frames


async def test_large_requests(root: LocalRoot, tmp_path: Path) -> None:
    """A transcript of several million characters reaches the checks, warm and fresh."""
    source = """
        def whole(ctx):
            return len(ctx.transcript()) == 5_000_000
        checks = [whole]
    """
    for form, head in (("warm", ""), ("fresh", "        " + STARTS_A_THREAD)):
        guest = await opened(root, form, bundle(tmp_path / form, head + source))
        await guest.run("checks", transcript="é" * 5_000_000)
        assert guest.statuses == {"whole": "passed"}
        await guest.backend.aclose()


async def test_bundles_side_by_side(root: LocalRoot, tmp_path: Path) -> None:
    """One backend serves trials of several bundles, each with its own functions."""
    backend = LocalBackend(root, env=ENV)
    for answer in (True, False):
        ref = bundle(tmp_path / str(answer), f"\ndef same_name(ctx): return {answer}\nchecks = [same_name]\n")
        await backend.start(ref)
        guest = Guest(backend, await backend.open(SandboxSpec("t", bundle=ref)))
        await guest.run("checks")
        assert guest.statuses == {"same_name": "passed" if answer else "failed"}
    await backend.aclose()


async def test_without_a_bundle(backend: LocalBackend) -> None:
    """Asking for a function of no bundle is a mistake that is told."""
    box = await backend.open(SandboxSpec("t"))
    with pytest.raises(StageError, match="no bundle"):
        await box.guest(GuestRequest("prepare", 0, "one", {}, {}, 1000), on_frame=print)


@pytest.mark.isolate
async def test_isolated_bundles_are_not_lying_around(
    root: LocalRoot, tmp_path: Path, isolating: None
) -> None:
    """An isolated agent finds the eval file neither before nor after its functions run."""
    ref = bundle(tmp_path / "bundle", ORDINARY)
    guest = await opened(root, "isolated", ref)
    find = "find / -path /proc -prune -o -path /usr -prune -o -name odd_eval.py -print"
    look = ["bash", "-c", f"ls -A /run/sphynx/bundle; {find}"]
    assert (await guest.box.exec(look)).stdout == b""
    await guest.run("prepare", cached=False, api={})
    assert guest.frames[-1] == {"t": "done"}
    assert (await guest.box.exec(look)).stdout == b""
    await guest.backend.aclose()
