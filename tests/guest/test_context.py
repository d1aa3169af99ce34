"""What a check reads is the trial's own data, in sync and async checks alike."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

TURNS = [
    {
        "index": 0,
        "userText": "go",
        "agentText": "done",
        "commandCount": 1,
        "events": [
            {"_tag": "message", "role": "user", "text": "go", "finishedAtMillis": None},
            {"_tag": "toolCall", "name": "read", "input": "SKILL.md", "status": None},
            {"_tag": "command", "command": "ls", "exitCode": 0, "output": "", "outputTruncated": False},
            {"_tag": "fileChange", "paths": ["a.txt"]},
        ],
    }
]


def passes(guest: Any, source: str, *names: str, **payload: Any) -> Any:
    answer = guest.checks(source, *(names or ("check",)), **payload)
    assert [(r["status"], r["message"]) for r in answer.records] == [("passed", "")] * len(answer.records)
    return answer


def call(answer: Any, place: int = 0) -> dict[str, Any]:
    return answer.record["calls"][place]


BOTH = pytest.mark.parametrize("form", ["def", "async def"])


def written(form: str, *lines: str) -> str:
    wait = "await " if form == "async def" else ""
    return "\n".join([f"{form} check(ctx):", *("    " + line.replace("@", wait) for line in lines)]) + "\n"


@BOTH
def test_the_conversation_can_be_read(guest, form):
    source = written(
        form,
        "assert @ctx.answer() == 'done' and @ctx.transcript() == 'hm\\n\\ndone'",
        f"assert (ctx.workspace, ctx.home) == ({str(guest.workspace)!r}, {str(guest.home)!r})",
        "return ctx.prepared == {'port': 1}",
    )
    answer = passes(guest, source, answer="done", transcript="hm\n\ndone", prepared={"port": 1})
    assert [entry["method"] for entry in answer.record["calls"]] == ["answer", "transcript"]
    assert call(answer)["input"]["text"] == "[]"
    assert call(answer)["output"] == {
        "text": "done",
        "format": "text",
        "state": "captured",
        "truncated": False,
    }


@BOTH
def test_without_any_payload_everything_is_empty(guest, form):
    lines = ["return [@ctx.answer(), @ctx.transcript(), @ctx.turns(), ctx.prepared, @ctx.cli.calls(),"]
    lines += ["        @ctx.mcp.calls(), @ctx.api.calls()] == ['', '', [], {}, [], [], []]"]
    passes(guest, written(form, *lines))


@BOTH
def test_turns_read_by_wire_key_and_by_python_name(guest, form):
    source = written(
        form,
        "[turn] = @ctx.turns()",
        "assert turn.user_text == turn['userText'] == turn['user_text'] == 'go'",
        "assert (turn.index, turn.agent_text, turn.command_count) == (0, 'done', 1)",
        "tags = [event._tag for event in turn.events]",
        "assert tags == [event['_tag'] for event in turn['events']]",
        "message, tool, command, change = turn.events",
        "assert 'SKILL.md' in (tool.input or '') and tool.output is None and message.input is None",
        "assert command.exit_code == 0 and command.output_truncated is False and change.paths == ['a.txt']",
        "assert message.get('finishedAtMillis') is None and isinstance(turn, dict)",
        "try: turn.usertext",
        "except AttributeError as error: assert 'userText' in str(error)",
        "else: return False",
        "turn['userText'] = turn.events[0]['text'] = 'changed'",
        "[again] = @ctx.turns()",
        "return again.user_text == again.events[0].text == 'go'",
    )
    answer = passes(guest, source, turns=TURNS)
    assert json.loads(call(answer)["output"]["text"]) == TURNS


@BOTH
def test_mock_calls_are_filtered_by_exact_name(guest, form):
    calls = {
        "cli": [{"cli": "users", "command": "get", "input": {"id": 1}}, {"cli": "users2", "command": "get"}],
        "mcp": [{"server": "users", "kind": "tool", "name": "users_get", "input": {}, "output": 1}],
        "api": [{"api": "shop", "method": "GET", "path": "/x", "status": 200}],
    }
    source = written(
        form,
        "assert [c.input for c in @ctx.cli.calls('users')] == [{'id': 1}]",
        "assert len(@ctx.cli.calls()) == 2 and len(@ctx.cli.calls('user')) == 0",
        "assert (@ctx.mcp.calls('users'))[0].kind == 'tool' and (@ctx.api.calls())[0].status == 200",
        "assert @ctx.api.url('shop') == 'http://127.0.0.1:1'",
        "try: @ctx.api.url('other')",
        "except LookupError as error: return 'shop' in str(error)",
    )
    answer = passes(guest, source, calls=calls, api={"shop": "http://127.0.0.1:1"})
    methods = [(entry["method"], entry["input"]["text"]) for entry in answer.record["calls"]]
    assert methods == [
        ("cli.calls", '["users"]'),
        ("cli.calls", "[]"),
        ("cli.calls", '["user"]'),
        ("mcp.calls", '["users"]'),
        ("api.calls", "[]"),
        ("api.url", '["shop"]'),
        ("api.url", '["other"]'),
    ]
    assert "LookupError" in call(answer, 6)["error"]["text"]


@BOTH
def test_text_is_read_as_utf_8_with_replacement_marks_and_line_ends_as_they_are(guest, form):
    (guest.workspace / "a.txt").write_bytes(b"a\r\nb\xff\xfe\0")
    (guest.workspace / "sub").mkdir()
    (guest.workspace / "sub" / "b.txt").write_text("ünï 😀")
    source = written(
        form,
        "assert @ctx.read_text('a.txt') == 'a\\r\\nb\\ufffd\\ufffd\\0'",
        "os.chdir('/')",
        "return @ctx.read_text('sub/b.txt') == 'ünï 😀'",
    )
    answer = passes(guest, source)
    assert call(answer)["input"]["text"] == '["a.txt"]'


@BOTH
def test_reading_what_is_no_regular_file_raises_at_once(guest, form):
    os.mkfifo(guest.workspace / "pipe")
    (guest.workspace / "device").symlink_to("/dev/zero")
    (guest.workspace / "folder").mkdir()
    with open(guest.workspace / "vast", "wb") as vast:
        vast.truncate(300 * 1024 * 1024)
    source = written(
        form,
        "for name in ('pipe', 'device', 'folder', 'vast', 'missing', 'folder/x/y'):",
        "    try: @ctx.read_text(name)",
        "    except OSError: continue",
        "    return {'passed': False, 'message': name}",
        "return True",
    )
    began = time.monotonic()
    answer = passes(guest, source)
    assert time.monotonic() - began < 5
    assert "MissingFileError" in call(answer, 4)["error"]["text"]
    assert call(answer, 4)["output"]["text"] == ""


def test_what_the_agent_left_instead_of_a_file_fails_the_check_and_is_named(guest):
    """Else an agent that cannot pass would make its trials void, which do not count."""
    os.mkfifo(guest.workspace / "pipe")
    (guest.workspace / "device").symlink_to("/dev/zero")
    (guest.workspace / "folder").mkdir()
    (guest.workspace / "loop").symlink_to("loop")
    with open(guest.workspace / "vast", "wb") as vast:
        vast.truncate(20_000_000_000)
    names = ("pipe", "device", "folder", "loop", "vast")
    checks = [f"async def {name}(ctx): return await ctx.read_text('{name}')" for name in names]
    checks += ["def there(ctx): return ctx.exists('loop')"]
    checks += [
        "def caught(ctx):\n    try: ctx.read_text('folder')\n    except IsADirectoryError: return True"
    ]
    answer = guest.checks("\n".join(checks), *names, "there", "caught")
    assert [(record["status"], record["message"]) for record in answer.records] == [
        ("failed", "pipe is not a regular file"),
        ("failed", "device is not a regular file"),
        ("failed", "folder is a folder, not a file"),
        ("failed", "loop is a link that leads back to itself"),
        ("failed", "vast is larger than 268,435,456 bytes"),
        ("failed", "loop is a link that leads back to itself"),
        ("passed", ""),
    ]


@BOTH
def test_exists_is_false_only_when_nothing_is_there(guest, form):
    (guest.workspace / "file").write_text("")
    (guest.workspace / "loop").symlink_to("loop")
    (guest.workspace / "dangling").symlink_to("nowhere")
    source = written(
        form,
        "found = [@ctx.exists(name) for name in ('file', '.', 'file/below', 'no', 'dangling')]",
        "assert found == [True, True, False, False, False], found",
        "try: @ctx.exists('loop')",
        "except OSError: return True",
    )
    answer = passes(guest, source)
    assert call(answer)["output"] == {
        "text": "true",
        "format": "json",
        "state": "captured",
        "truncated": False,
    }


@BOTH
def test_exec_takes_a_program_and_its_arguments_as_prepare_does(guest, form):
    """No shell reads them; a text in place of the list is refused; how it ends raises nothing."""
    source = written(
        form,
        "done = @ctx.exec('printf', ['%s|', 'a b', '$HOME', \"it's; exit 3\"])",
        'assert done.stdout == "a b|$HOME|it\'s; exit 3|", done.stdout',
        "assert (@ctx.exec('false', [])).exit_code == 1",
        "try:",
        "    @ctx.exec('echo', 'x')",
        "except TypeError as error:",
        "    return str(error) == \"exec takes the arguments as a list: exec('echo', ['x'])\"",
    )
    guest.checks(source, "check")
    answer = guest.run("checks", {})
    assert (answer.record["status"], answer.record["message"]) == ("passed", "")


@BOTH
def test_exec_is_a_login_shell_in_the_workspace_that_keeps_the_trials_path(guest, form):
    tool = guest.home / "bin" / "only-here"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho mine $SPHYNX_PATH $GIVEN\n")
    tool.chmod(0o755)
    (guest.home / ".profile").write_text("exit 9  # what the agent wrote there is not read\n")
    login = "PATH=/from-profile:/usr/bin:/bin; export PATH\n"
    source = written(
        form,
        "done = @ctx.exec('only-here; pwd; echo $PATH >&2; exit 3')",
        "assert done.exit_code == 3 and not done.timed_out",
        f"assert done.stdout == 'mine given\\n{guest.workspace}\\n', done.stdout",
        "assert '/from-profile' in done.stderr and done.stderr.startswith(os.environ['PATH'])",
        "assert (@ctx.exec('exit 4 # the end')).exit_code == 4",
        "assert (@ctx.exec('cat <<END\\nhere\\nEND')).stdout == 'here\\n'",
        "return (@ctx.exec('read line; echo [$line]')).stdout == '[]\\n'",
    )
    guest.checks(source, "check")
    path = f"{guest.home}/bin:{os.environ['PATH']}"
    answer = guest.run("checks", {"login": login}, env={"PATH": path, "GIVEN": "given"})
    assert (answer.record["status"], answer.record["message"]) == ("passed", "")
    entry = call(answer)
    assert entry["input"]["text"] == '["only-here; pwd; echo $PATH >&2; exit 3"]'
    assert json.loads(entry["output"]["text"])["exitCode"] == 3
    assert set(json.loads(entry["output"]["text"])) == {"exitCode", "stdout", "stderr"}


@BOTH
def test_exec_never_raises_for_how_the_command_ends(guest, form):
    source = written(
        form,
        "killed = @ctx.exec('kill -9 $$')",
        "late = @ctx.exec('echo early; sleep 60', timeout_ms=150)",
        "missing = @ctx.exec('no-such-program-at-all')",
        "bytes = @ctx.exec(\"printf 'a\\\\377b'\")",
        "assert (killed.exit_code, killed.timed_out) == (137, False), killed",
        "assert (late.exit_code, late.timed_out, late.stdout) == (137, True, 'early\\n'), late",
        "assert missing.exit_code == 127 and 'not found' in missing.stderr",
        "return bytes.stdout == 'a\\ufffdb'",
    )
    passes(guest, source)


@BOTH
def test_exec_keeps_huge_output_within_bounds_and_says_so(guest, form):
    source = written(
        form,
        "done = @ctx.exec('head -c 60000000 /dev/zero | tr \"\\\\\\\\0\" x; echo end >&2')",
        "return done.truncated and len(done.stdout) == 16 * 1024 * 1024 and done.stderr == 'end\\n'",
    )
    answer = passes(guest, source)
    assert len(call(answer)["output"]["text"]) == 64_000
    assert answer.record["truncated"] is True


def test_concurrent_calls_keep_their_own_inputs_and_outputs(guest):
    source = """
    async def check(ctx):
        names = [f"{number}" for number in range(20)]
        async def one(name):
            done = await ctx.exec(f"sleep 0.{int(name) % 3}; echo {name}")
            print("saw", name)
            return done.stdout.strip()
        return await asyncio.gather(*map(one, names)) == names
    """
    record = passes(guest, source).record
    assert len(record["calls"]) == 20
    for entry in record["calls"]:
        name = json.loads(entry["input"]["text"])[0].rpartition(" ")[2]
        assert json.loads(entry["output"]["text"])["stdout"] == f"{name}\n"
    assert sorted(log["value"]["text"] for log in record["logs"]) == sorted(f"saw {n}" for n in range(20))


def test_a_task_that_outlives_its_check_does_not_write_into_the_next_ones_evidence(guest):
    source = """
    async def first(ctx):
        async def later():
            await asyncio.sleep(0.05)
            print("from the first")
            ctx.seen = await ctx.answer()
        ctx.task = asyncio.create_task(later())
        return True
    async def second(ctx):
        await ctx.task
        print("from the second")
        return ctx.seen == "done"
    """
    first, second = passes(guest, source, "first", "second", answer="done").records
    assert first["logs"] == first["calls"] == []
    assert [log["value"]["text"] for log in second["logs"]] == ["from the second"]


def test_threads_of_a_check_read_plain_values_and_print_into_its_evidence(guest):
    source = """
    from concurrent.futures import ThreadPoolExecutor
    def read(ctx):
        print("in a thread")
        return ctx.read_text("a.txt")
    def plain(ctx):
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(read, [ctx, ctx])) == ["x", "x"]
    async def waiting(ctx):
        return await asyncio.to_thread(read, ctx) == "x"
    """
    (guest.workspace / "a.txt").write_text("x")
    plain, waiting = passes(guest, source, "plain", "waiting").records
    assert (len(plain["calls"]), len(plain["logs"])) == (2, 2)
    assert (len(waiting["calls"]), len(waiting["logs"])) == (1, 1)


def test_checks_share_work_by_keeping_it_on_the_context(either):
    source = """
    async def first(ctx):
        ctx.report = (await ctx.exec("echo ran >> count; cat count")).stdout
        return True
    def second(ctx):
        return ctx.report == "ran\\n" and not hasattr(ctx, "nothing")
    """
    passes(either, source, "first", "second")


def test_the_environment_of_a_check_is_the_trials_and_not_the_imports(either):
    source = """
    AT_IMPORT = (os.environ.get("ONLY_TRIAL"), os.getcwd(), os.path.expanduser("~"), os.listdir("."))
    def check(ctx):
        assert os.environ["ONLY_TRIAL"] == "yes" and os.getcwd() == ctx.workspace
        return True
    def imported(ctx):
        assert AT_IMPORT[0] is None and AT_IMPORT[1] != ctx.workspace and AT_IMPORT[2] != ctx.home, AT_IMPORT
        return AT_IMPORT[3] == []
    """
    names = ("check", "imported") if either.how == "fresh" else ("check",)
    either.checks(source, *names)
    answer = either.run("checks", env={"ONLY_TRIAL": "yes"})
    assert [(r["status"], r["message"]) for r in answer.records] == [("passed", "")] * len(names)


def test_files_the_agent_left_in_the_workspace_are_not_imported(guest):
    for name in ("json", "asyncio", "sphynx", "inspect", "helper"):
        Path(guest.workspace, f"{name}.py").write_text("raise SystemExit('the agent was here')")
    passes(guest, "def check(ctx):\n    import json, inspect, xml\n    return True\n")
