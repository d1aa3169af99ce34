"""``prepare`` and ``solution`` functions: what they may do, what they hand over, how they fail."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

BOTH = pytest.mark.parametrize("form", ["def", "async def"])


def written(form: str, *lines: str) -> str:
    wait = "await " if form == "async def" else ""
    return "\n".join([f"{form} step(ctx):", *("    " + line.replace("@", wait) for line in lines)]) + "\n"


def prepared(answer: Any) -> Any:
    assert answer.done and answer.exit_code == 0, (answer.frames, answer.output)
    return answer.one("prepared")["value"]


def failed(answer: Any) -> dict[str, Any]:
    assert answer.done and answer.exit_code == 1, (answer.frames, answer.output)
    assert [frame["t"] for frame in answer.frames] == ["failed", "done"]
    return answer.one("failed")


@BOTH
def test_prepare_reads_writes_and_runs_programs_without_a_shell(either, form):
    source = written(
        form,
        "@ctx.write_text('a/b/c.txt', 'ünï\\r\\n')",
        "assert @ctx.read_text('a/b/c.txt') == 'ünï\\r\\n'",
        "assert @ctx.exists('a/b') and not @ctx.exists('a/x') and not @ctx.exists('a/b/c.txt/d')",
        "done = @ctx.exec('printf', ['%s|', 'a b', '$HOME', '*'])",
        "assert (done.exit_code, done.stdout, done.stderr) == (0, 'a b|$HOME|*|', '')",
        "assert (@ctx.exec('pwd', cwd='a/b')).stdout.strip() == ctx.workspace + '/a/b'",
        "given = (@ctx.exec('env', env={'GIVEN': 'yes'})).stdout",
        "assert 'GIVEN=yes' in given and 'HOME=' + ctx.home in given and 'GIVEN' not in os.environ",
        "failed = @ctx.exec('sh', ['-c', 'echo out; exit 4'], check=False)",
        "assert (failed.exit_code, failed.stdout) == (4, 'out\\n')",
        "return {'cached': ctx.cached, 'workspace': ctx.workspace, 'url': @ctx.api.url('shop')}",
    )
    answer = either.function("prepare", source, cached=True, api={"shop": "http://127.0.0.1:1"})
    assert prepared(answer) == {
        "cached": True,
        "workspace": str(either.workspace),
        "url": "http://127.0.0.1:1",
    }
    assert (either.workspace / "a/b/c.txt").read_bytes() == "ünï\r\n".encode()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("pass", {}),
        ("return None", {}),
        ("return {}", {}),
        (
            "return {'port': 4173, 'deep': [1, None, {'a': 'ü'}]}",
            {"port": 4173, "deep": [1, None, {"a": "ü"}]},
        ),
        ("sys.exit(0)", {}),
        ("sys.exit()", {}),
    ],
)
def test_what_prepare_returns_reaches_the_host(guest, line, value):
    assert prepared(guest.function("prepare", written("def", line))) == value


def test_what_json_cannot_hold_exactly_is_made_plain(guest):
    line = "return {1: float('nan'), 'text': '\\ud800', 'pair': (1, 2)}"
    assert prepared(guest.function("prepare", written("def", line))) == {
        "1": None, "text": "\ufffd", "pair": [1, 2],
    }  # fmt: skip


def test_paths_may_be_path_objects(guest):
    source = written(
        "def",
        "from pathlib import Path",
        "done = ctx.exec(Path('/bin/echo'), [Path('a')], cwd=Path('.'))",
        "ctx.write_text(Path('b.txt'), 'b')",
        "assert ctx.exists(Path('b.txt'))",
        "return {'said': done.stdout, 'read': ctx.read_text(Path('b.txt'))}",
    )
    assert prepared(guest.function("prepare", source)) == {"said": "a\n", "read": "b"}


def test_lambdas_that_return_a_coroutine_are_awaited(guest):
    source = "async def late(ctx):\n    return {'text': await ctx.read_text('a.txt')}\n"
    (guest.workspace / "a.txt").write_text("x")
    assert prepared(guest.function("prepare", source, "lambda ctx: late(ctx)")) == {"text": "x"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return [1]", "The prepare step step returned list"),
        ("return {'a': object()}", "returned a dict that JSON cannot hold"),
        ("return {'a': 'x' * 16_000}", "returned 16,008 characters of JSON; the limit is 16,000"),
        ("raise KeyError('port')", "The prepare step step raised KeyError: 'port' (smoke_eval.py:"),
        ("assert False, 'no seed'", "The prepare step step raised AssertionError: no seed"),
        ("ctx.read_text('none')", "there is no none in the workspace"),
        ("ctx.api.url('shop')", 'raised LookupError: there is no API mock "shop" here'),
        (
            "ctx.exec('no-such-program')",
            "The prepare step no-such-program could not be started: No such file",
        ),
        (
            "ctx.exec('npm', 'ci')",
            "raised TypeError: exec takes the arguments as a list: exec('npm', ['ci'])",
        ),
        (
            "ctx.exec('echo one')",
            "echo one could not be started: No such file or directory; exec uses no shell",
        ),
        (
            "ctx.exec('sh', ['-c', 'exit 3\\n#' + 'x' * 500])",
            "The prepare step sh -c ... exited with status 3",
        ),
        ("ctx.exec('pwd', cwd='none')", "The prepare step pwd could not be started: No such file"),
        ("ctx.exec('sleep', ['60'], timeout_ms=100)", "The prepare step sleep 60 did not end within 100 ms"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    ],
)
def test_a_prepare_that_cannot_hand_over_says_why(guest, line, said):
    began = time.monotonic()
    assert said in failed(guest.function("prepare", written("def", line)))["message"]
    assert time.monotonic() - began < 10


def test_exactly_the_limit_is_handed_over(guest):
    value = prepared(guest.function("prepare", written("def", "return {'a': 'x' * 15_992}")))
    assert len(json.dumps(value, separators=(",", ":"))) == 16_000


@BOTH
def test_a_program_that_fails_is_named_with_its_status_and_what_it_said(guest, form):
    source = written(form, "@ctx.exec('sh', ['-c', 'echo; echo seed: no such table >&2; exit 3'])")
    frame = failed(guest.function("prepare", source))
    assert frame["message"].startswith("The prepare step sh -c ")
    assert frame["message"].endswith("exited with status 3: seed: no such table")
    assert frame["status"] == 3


def test_a_prepare_that_exits_is_named_with_its_status_and_its_last_words(guest):
    line = "print('seed: no such table', file=sys.stderr); sys.exit(3)"
    answer = guest.function("prepare", written("def", line))
    assert failed(answer) == {
        "t": "failed",
        "message": "The prepare step step exited with status 3: seed: no such table",
        "status": 3,
    }
    assert "seed: no such table" in answer.output
    frame = failed(guest.function("prepare", written("def", "sys.exit('no database')")))
    assert (frame["message"], frame["status"]) == (
        "The prepare step step exited with status 1: no database",
        1,
    )


def test_the_error_of_a_program_can_be_caught_and_read(guest):
    source = written(
        "def",
        "from sphynx import SphynxError",
        "try: ctx.exec('sh', ['-c', 'echo out; exit 5'])",
        "except SphynxError as error: return {'status': error.status, 'said': error.outcome.stdout}",
    )
    assert prepared(guest.function("prepare", source)) == {"status": 5, "said": "out\n"}


def test_a_prepare_that_leaves_by_os_exit_hands_nothing_over(either):
    answer = either.function("prepare", written("def", "os._exit(0)"))
    assert answer.frames == [] and answer.exit_code == 0


def test_output_is_live_and_goes_to_the_real_descriptors(guest):
    source = written(
        "def",
        "print('one'); os.write(1, b'two\\n'); print('three \\ud800', file=sys.stderr)",
        "os.system('echo four'); ctx.exec('echo', ['the key of the day'])",
        "os._exit(0)",
    )
    answer = guest.function("prepare", source)
    assert answer.output.split("\n") == ["one", "two", "three \\ud800", "four", ""]


def test_a_server_that_prepare_leaves_behind_does_not_hold_it(either):
    began = time.monotonic()
    answer = either.function(
        "prepare", written("def", "subprocess.Popen(['sleep', '4'])", "return {'pid': 1}")
    )
    assert prepared(answer) == {"pid": 1}
    assert time.monotonic() - began < 3.5


@BOTH
def test_a_solution_works_on_the_workspace(either, form):
    answer = either.function("solution", written(form, "@ctx.write_text('hello.txt', 'hello')", "return 7"))
    assert answer.frames == [{"t": "done"}] and answer.exit_code == 0
    assert (either.workspace / "hello.txt").read_text() == "hello"


def test_a_solution_that_fails_says_why(guest):
    frame = failed(guest.function("solution", written("def", "ctx.exec('sh', ['-c', 'exit 2'])")))
    assert frame["message"] == "The solution step sh -c exit 2 exited with status 2"


@pytest.mark.parametrize("op", ["prepare", "solution"])
def test_a_case_without_the_function_says_so(guest, op):
    guest.checks("def check(ctx): return True\n", "check")
    assert failed(guest.run(op))["message"] == f'smoke_eval.py: case "one" has no {op} function'


def test_a_prepare_that_forgets_an_await_fails_instead_of_doing_nothing(guest):
    """The trial would otherwise start without the file."""
    source = """
        async def step(ctx):
            ctx.write_text("seed.txt", "x")
    """
    said = failed(guest.function("prepare", source))["message"]
    assert said == "The prepare step step called write_text() without await; write: await ctx.write_text(...)"
