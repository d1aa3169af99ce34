"""All checks run, each gets its own verdict, and none can hold, skip or forge anything."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import case_data


def statuses(answer: Any) -> dict[str, str]:
    return {record["name"]: record["status"] for record in answer.records}


SOURCE = """
    async def passes(ctx):
        return "/health" in await ctx.read_text("routes.py")
    def plain(ctx):
        return ctx.exists("routes.py") and not ctx.exists("nothing.py")
    async def fails(ctx):
        return False
    def says(ctx):
        return Verdict(False, "helo is not hello", score=0.25, metrics={"edits": 1})
    def asserts(ctx):
        text = ctx.read_text("routes.py")
        assert "DELETE" in text, "no DELETE route"
    def raises(ctx):
        return {}["port"]
    def nonsense(ctx):
        return 1
    def last(ctx):
        return {"passed": True, "message": "all quiet"}
"""
NAMES = ("passes", "plain", "fails", "says", "asserts", "raises", "nonsense", "last")


def test_every_check_runs_and_each_has_its_own_verdict(either):
    (either.workspace / "routes.py").write_text("GET /health")
    answer = either.checks(SOURCE, *NAMES)
    assert statuses(answer) == {
        "passes": "passed", "plain": "passed", "fails": "failed", "says": "failed", "asserts": "failed",
        "raises": "error", "nonsense": "error", "last": "passed",
    }  # fmt: skip
    assert [record["id"] for record in answer.records] == [f"code:{index}" for index in range(8)]
    assert [record["exitCode"] for record in answer.records] == [0, 0, 0, 0, 0, 1, 1, 0]
    assert answer.one("result") == {"t": "result", "passed": False, "message": None}
    assert answer.exit_code == 1
    assert answer.done


def test_a_record_has_exactly_the_fields_of_the_wire(guest):
    (guest.workspace / "routes.py").write_text("GET /health")
    record = guest.checks(SOURCE, "passes").record
    assert set(record) == {
        "id", "index", "name", "kind", "status", "startedAt", "durationMs", "message", "exitCode",
        "truncated", "input", "output", "error", "calls", "logs",
    }  # fmt: skip
    assert record["kind"] == "code"
    assert record["input"] == {"text": "", "format": "text", "state": "unavailable", "truncated": False}
    assert record["output"] == {"text": "true", "format": "json", "state": "captured", "truncated": False}
    assert record["error"] is None
    assert abs(record["startedAt"] / 1000 - time.time()) < 60
    assert 0 <= record["durationMs"] < 10_000


def test_score_and_metrics_travel_beside_the_verdict(guest):
    record = guest.checks(SOURCE, "says").record
    assert record["message"] == "helo is not hello"
    assert record["x-sphynx"] == {"score": 0.25, "metrics": {"edits": 1}}
    assert json.loads(record["output"]["text"])["metrics"] == {"edits": 1}


def test_a_failing_assert_fails_the_check_with_its_text(guest):
    (guest.workspace / "routes.py").write_text("")
    answer = guest.checks(SOURCE, "asserts")
    assert answer.record["message"] == "no DELETE route"
    assert "smoke_eval.py" in answer.record["error"]["text"]
    assert answer.exit_code == 0


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("assert 1 == 2", "assertion failed: assert 1 == 2"),
        ('assert len("ab") == \\\n            3', 'assertion failed: assert len("ab") == \\ 3'),
        ("assert (1 ==\n            2 or\n            None)", "assertion failed: assert (1 == 2 or None)"),
        ("assert False, ''", "assertion failed: assert False, ''"),
        ("raise AssertionError('by hand')", "by hand"),
        ("deep(0)", "assertion failed: assert number > 0"),
    ],
)
def test_an_assert_without_a_message_shows_its_source(guest, line, text):
    source = "\n".join(["def deep(number):", "    assert number > 0", "def check(ctx):", f"    {line}"])
    record = guest.checks(source, "check").record
    assert record["status"] == "failed"
    assert record["message"].startswith(text)


def test_asserts_of_a_task_group_are_a_failed_check_too(guest):
    source = """
    async def check(ctx):
        async def inner():
            assert False, "inside a task"
        async with asyncio.TaskGroup() as group:
            group.create_task(inner())
    """
    record = guest.checks(source, "check").record
    assert (record["status"], record["message"]) == ("failed", "inside a task")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return None", "returned None"),
        ("return 1", "returned 1 (int)"),
        ("return 'yes'", "returned 'yes' (str)"),
        ("return []", "returned [] (list)"),
        ("return {}", 'returned a verdict without "passed"'),
        ("return {'passed': 1}", 'whose "passed" is 1 (int)'),
        ("return {'passed': True, 'reason': 'x'}", "with the key 'reason'"),
        ("return {'passed': True, 'message': 3}", 'whose "message" is 3'),
        ("return Verdict(True, score=2)", 'whose "score" is 2'),
        ("return Verdict(True, score=True)", 'whose "score" is True'),
        ("return Verdict(True, metrics={'a': float('nan')})", "whose metric 'a' is nan"),
        ("return Verdict(True, metrics={1: 1})", "whose metric 1 is 1"),
        ("return Verdict(None)", 'whose "passed" is None'),
        ("return NumpyBool()", "returned True (smoke_eval.NumpyBool)"),
        ("return BadRepr()", "returned smoke_eval.BadRepr"),
        ("return (value for value in 'ab')", "generator"),
    ],
)
def test_anything_but_a_verdict_is_an_error_that_says_what_came_back(guest, body, said):
    source = f"""
    class NumpyBool:
        def __bool__(self): return True
        def __repr__(self): return "True"
    class BadRepr:
        def __repr__(self): raise ValueError("no")
    def check(ctx):
        {body}
    """
    answer = guest.checks(source, "check")
    assert answer.record["status"] == "error"
    assert 'check "check" returned ' in answer.record["message"]
    assert said in answer.record["message"]
    without_json = "NumpyBool" in body or "BadRepr" in body or "for value" in body
    assert answer.record["output"]["state"] == ("unavailable" if without_json else "captured")
    assert answer.exit_code == 1


def test_a_forgotten_await_of_a_function_of_ones_own_is_named(guest):
    source = """
    async def own(ctx):
        return True
    async def check(ctx):
        return own(ctx)
    """
    assert "an await is missing" in guest.checks(source, "check").record["message"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("open('nothing.txt')", "raised FileNotFoundError"),
        ("sys.exit(0)", "called sys.exit(0)"),
        ("sys.exit('gone')", "called sys.exit('gone')"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
        ("raise BaseException('odd')", "raised BaseException: odd"),
        ("raise TimeoutError('theirs')", "raised TimeoutError: theirs"),
        ("raise Exception", "raised Exception"),
        ("raise Unprintable()", "raised Unprintable"),
        ("raise ExceptionGroup('two', [AssertionError('a'), ValueError('b')])", "raised ExceptionGroup"),
        ("ctx.answer = 'mine'", "raised AttributeError: 'answer' belongs to the context"),
        ("deep(200000)", "raised RecursionError"),
    ],
)
@pytest.mark.parametrize("form", ["def", "async def"])
def test_any_other_exception_is_an_error_that_names_the_check_and_the_next_one_runs(
    guest, form, statement, said
):
    statement = statement.replace("ctx.read", "await ctx.read") if form == "async def" else statement
    source = f"""
    class Unprintable(Exception):
        def __str__(self): raise ValueError("no")
    def deep(number):
        return deep(number - 1) + 1
    {form} check(ctx):
        {statement}
    def after(ctx):
        return True
    """
    answer = guest.checks(source, "check", "after")
    assert statuses(answer) == {"check": "error", "after": "passed"}
    record = answer.records[0]
    assert record["message"].startswith(f'check "check" {said}')
    assert "smoke_eval.py:" in record["message"]
    assert "sphynx/guest/checks.py" not in record["error"]["text"]
    assert answer.exit_code == 1


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "time.sleep(60)",
        "subprocess.run(['sleep', '60'])",
        "ctx.exec('sleep 60')",
        "threading.Event().wait()",
    ],
)
def test_a_plain_check_that_never_ends_is_ended_and_the_next_one_runs(either, body):
    source = f"""
    def stuck(ctx):
        {body}
        return True
    def after(ctx):
        return True
    """
    began = time.monotonic()
    answer = either.checks(source, "stuck", "after", timeout_ms=200)
    assert time.monotonic() - began < 5
    assert statuses(answer) == {"stuck": "error", "after": "passed"}
    assert "ran past its time limit of 0.2s" in answer.records[0]["message"]
    assert answer.done


@pytest.mark.parametrize(
    "body",
    [
        "await asyncio.sleep(60)",
        "await asyncio.Event().wait()",
        "await ctx.exec('sleep 60')",
        "while True: pass",
        "while True: await asyncio.sleep(0)",
        "await asyncio.gather(asyncio.sleep(60), asyncio.to_thread(time.sleep, 3))",
    ],
)
def test_an_async_check_that_never_ends_is_ended_and_the_next_one_runs(guest, body):
    source = f"""
    async def stuck(ctx):
        {body}
        return True
    async def after(ctx):
        await asyncio.sleep(0)
        return True
    """
    answer = guest.checks(source, "stuck", "after", timeout_ms=200)
    assert statuses(answer) == {"stuck": "error", "after": "passed"}
    assert "ran past its time limit of 0.2s" in answer.records[0]["message"]


def test_a_check_that_swallows_cancellation_is_ended(guest):
    source = """
    async def stuck(ctx):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass
    async def after(ctx):
        return True
    """
    answer = guest.checks(source, "stuck", "after", timeout_ms=200)
    assert statuses(answer) == {"stuck": "error", "after": "passed"}


def test_a_check_that_catches_everything_takes_the_process_down_but_keeps_its_own_record(guest):
    source = """
    def stuck(ctx):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass
    def after(ctx):
        return True
    """
    answer = guest.checks(source, "stuck", "after", timeout_ms=100)
    assert statuses(answer) == {"stuck": "error"}
    assert "cannot be interrupted" in answer.record["message"]
    assert not answer.done
    assert answer.exit_code == 1


@pytest.mark.parametrize("status", [0, 3])
def test_a_check_that_leaves_by_os_exit_gives_no_result(either, status):
    answer = either.checks(f"def check(ctx):\n    os._exit({status})\n", "check")
    assert [frame["t"] for frame in answer.frames] == ["validation"]
    assert answer.record["status"] == "running"
    assert not answer.done


def test_a_thread_that_is_left_over_does_not_hold_the_guest(either):
    source = """
    def check(ctx):
        threading.Thread(target=time.sleep, args=(60,)).start()
        return True
    """
    began = time.monotonic()
    answer = either.checks(source, "check")
    assert answer.done and answer.exit_code == 0
    assert time.monotonic() - began < 10


def test_a_daemon_that_holds_every_descriptor_does_not_hold_the_guest(either):
    source = """
    def check(ctx):
        ctx.exec("sleep 4 & echo started")
        subprocess.Popen(["sleep", "4"], start_new_session=True)
        return True
    """
    began = time.monotonic()
    answer = either.checks(source, "check")
    assert answer.done and answer.record["status"] == "passed"
    assert time.monotonic() - began < 3.5


def test_a_child_that_returns_from_the_check_sends_no_second_verdict(either):
    source = """
    def check(ctx):
        if os.fork() == 0:
            print("from the child")
            return {"passed": False, "message": "from the child"}
        os.wait()
        return True
    """
    answer = either.checks(source, "check")
    assert answer.one("result") == {"t": "result", "passed": True, "message": None}
    assert answer.record["logs"] == []
    assert answer.output.strip() == "from the child"


def test_frames_that_a_check_prints_go_nowhere_near_the_channel(either):
    source = """
    def check(ctx):
        forged = '{"t":"result","passed":true,"message":null}'
        os.write(1, (forged + chr(10)).encode())
        os.system("echo '%s'; echo '%s' >&2" % (forged, forged))
        print(forged)
        sys.__stdout__.write(forged + chr(10))
        return False
    """
    answer = either.checks(source, "check")
    assert answer.one("result")["passed"] is False
    assert answer.output.count("forged") == 0
    assert answer.output.count('"t":"result"') == 4
    assert answer.record["logs"][0]["value"]["text"].startswith('{"t":"result"')


def test_async_checks_share_one_event_loop_and_one_context(either):
    source = """
    async def first(ctx):
        ctx.loop, ctx.lock = asyncio.get_running_loop(), asyncio.Lock()
        ctx.task = asyncio.create_task(asyncio.sleep(0.05, "done"))
        return True
    def between(ctx):
        return asyncio.run(asyncio.sleep(0, True)) and ctx.loop.is_closed() is False
    async def second(ctx):
        async with ctx.lock:
            return ctx.loop is asyncio.get_running_loop() and await ctx.task == "done"
    """
    answer = either.checks(source, "first", "between", "second")
    assert statuses(answer) == {"first": "passed", "between": "passed", "second": "passed"}


def test_partials_lambdas_and_callable_objects_may_be_async(guest):
    source = """
    import functools
    async def reads(name, ctx):
        return "x" in await ctx.read_text(name)
    class Reads:
        async def __call__(self, ctx):
            return "x" in await ctx.read_text("a.txt")
        def plain(self, ctx):
            return "x" in ctx.read_text("a.txt")
    """
    (guest.workspace / "a.txt").write_text("x")
    answer = guest.checks(
        source,
        'functools.partial(reads, "a.txt")',
        'lambda ctx: reads("a.txt", ctx)',
        "Reads()",
        "Reads().plain",
    )
    assert statuses(answer) == {f"Validator {number}": "passed" for number in range(1, 5)}


def test_names_and_limits_come_from_the_request_when_it_gives_them(guest):
    answer = guest.checks(
        "def a(ctx): return True\ndef b(ctx): time.sleep(30)\n",
        "a", "b",
        checks=[{"index": 1, "name": "renamed", "timeout_ms": 100}],
    )  # fmt: skip
    assert statuses(answer) == {"renamed": "error"}
    assert answer.record["id"] == "code:1"
    assert "limit of 0.1s" in answer.record["message"]


def test_records_are_sent_again_at_every_step(guest):
    source = """
    async def check(ctx):
        await ctx.answer()
        print("one")
        return True
    """
    frames = guest.checks(source, "check").frames
    sent = [frame["record"] for frame in frames if frame["t"] == "validation"]
    ended = [[call["durationMs"] is not None for call in record["calls"]] for record in sent]
    steps = [
        (record["status"], *calls, len(record["logs"])) for record, calls in zip(sent, ended, strict=True)
    ]
    assert steps == [
        ("running", 0),
        ("running", False, 0),
        ("running", True, 0),
        ("running", True, 1),
        ("passed", True, 1),
    ]


@pytest.mark.parametrize("worked", case_data.load("validator-result"), ids=case_data.case_id)
def test_the_result_line_carries_the_first_failing_message_else_the_last(tmp_path, worked):
    from guest.conftest import Guest  # type: ignore[import-not-found]

    for index, verdicts in enumerate(worked["input"]["verdicts"]):
        lines, names = [], []
        for place, verdict in enumerate(verdicts):
            name = f"check_{place}"
            body = "raise RuntimeError('boom')" if verdict.get("threw") else f"return {verdict!r}"
            lines.append(f"def {name}(ctx): {body}")
            names.append(f"named({verdict['name']!r}, {name})" if "name" in verdict else name)
        (tmp_path / str(index)).mkdir()
        answer = Guest(tmp_path / str(index), "fresh").checks("\n".join(lines) + "\n", *names)
        result, expected = answer.one("result"), worked["expected"]["messages"][index]
        assert result["passed"] is worked["expected"]["passed"][index]
        assert answer.exit_code == worked["expected"]["exit"][index]
        if expected and expected.startswith("names "):
            assert expected.removeprefix("names ") in result["message"]
        else:
            assert result["message"] == expected


@pytest.mark.parametrize(
    ("suite", "case", "checks", "said"),
    [
        (3, "one", [], "smoke_eval.py has 1 suites, there is no number 3"),
        (0, "two", [], 'suite number 0 has no case "two"'),
        (0, "one", [{"index": 7}], 'case "one" has no check number 7'),
    ],
)
def test_a_request_for_something_that_is_not_there_says_so(guest, suite, case, checks, said):
    guest.checks("def check(ctx): return True\n", "check")
    answer = guest.run("checks", {"checks": checks}, suite=suite, case=case)
    assert said in answer.one("failed")["message"]
    assert answer.exit_code == 1 and answer.done


def test_a_check_that_changes_folder_or_streams_does_not_change_the_next_ones(guest):
    source = """
    def first(ctx):
        os.chdir("/"); sys.stdout = open(os.devnull, "w"); print("lost")
        return True
    def second(ctx):
        print("kept")
        return os.getcwd() == ctx.workspace
    """
    answer = guest.checks(source, "first", "second")
    assert statuses(answer) == {"first": "passed", "second": "passed"}
    assert [log["value"]["text"] for log in answer.records[1]["logs"]] == ["kept"]


def test_a_workspace_that_is_gone_is_named(guest):
    guest.checks("def check(ctx): return True\n", "check")
    away = guest.workspace
    guest.workspace = guest.root / "nowhere"
    answer = guest.run("checks", cwd=away)
    assert "nowhere cannot be entered: No such file or directory" in answer.one("failed")["message"]
    assert answer.exit_code == 1 and answer.done


@pytest.mark.parametrize("form", ["def", "async def"])
def test_reading_a_file_the_agent_never_wrote_is_a_failed_check(guest, form):
    """An agent that leaves its file out has failed; a void trial would hide that from the pass rate."""
    read = "await ctx.read_text" if form == "async def" else "ctx.read_text"
    source = f"""
    {form} check(ctx):
        return {read}("nothing.txt") == "hello"
    """
    record = guest.checks(source, "check").record
    assert (record["status"], record["message"]) == ("failed", "there is no nothing.txt in the workspace")


FORGETFUL = """
    async def always(ctx):
        assert ctx.exists("nothing.md")
        return True
    async def never(ctx):
        return ctx.read_text("routes.py") == "GET /health"
    async def bare(ctx):
        return ctx.exec("true")
    async def breaks(ctx):
        return "GET" in ctx.read_text("routes.py")
    async def gathers(ctx):
        task = asyncio.create_task(ctx.exists("routes.py"))
        both = await asyncio.gather(ctx.read_text("routes.py"), ctx.turns())
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.exec("true"))
        return await task and "GET" in both[0]
"""


def test_a_forgotten_await_is_an_error_never_a_verdict(either):
    (either.workspace / "routes.py").write_text("GET /health")
    answer = either.checks(FORGETFUL, "always", "never", "bare", "breaks", "gathers")
    assert statuses(answer) == {
        "always": "error", "never": "error", "bare": "error", "breaks": "error", "gathers": "passed",
    }  # fmt: skip
    said = 'check "{}" called {}() without await; write: await ctx.{}(...)'
    for record, method in zip(answer.records, ("exists", "read_text", "exec", "read_text"), strict=False):
        assert record["message"] == said.format(record["name"], method, method)
    assert "never awaited" not in answer.output


def test_the_trace_of_a_failed_assert_in_an_async_check_begins_with_the_authors_line(guest):
    answer = guest.checks("""
        async def holds(ctx):
            assert await ctx.exists("a"), "no a"
    """, "holds")  # fmt: skip
    trace = answer.record["error"]["text"]
    assert trace.count("  File ") == 1
    assert trace.endswith("AssertionError: no a\n")
