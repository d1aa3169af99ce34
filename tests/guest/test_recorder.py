"""The recorder notes every command of a real shell and changes nothing of what the script does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.guest.recorder import SCRIPT, read_trace

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


class Shell:
    """Runs scripts with and without the recorder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "home" / ".sphynx" / "trace-1.ndjson"
        self.script = root / "trace.sh"
        self.script.write_text(SCRIPT)

    def run(self, text: str, *, recorded: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        extra = {"BASH_ENV": str(self.script), "SPHYNX_TRACE_LOG": str(self.log)} if recorded else {}
        return subprocess.run(
            ["bash", "-c", text],
            env={**ENV, **extra, **env},
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def commands(self) -> list[str]:
        return [command for _, command in read_trace(self.log.read_text())] if self.log.exists() else []


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_each_command_is_a_line_with_time_folder_and_text(shell):
    shell.run("echo one\nmkdir sub && cd sub\necho two >/dev/null", TZ="Asia/Tokyo")
    lines = [json.loads(line) for line in shell.log.read_text().splitlines()]
    assert [line["argv"] for line in lines] == ["echo one", "mkdir sub", "cd sub", "echo two > /dev/null"]
    assert [line["cwd"] for line in lines] == [str(shell.root)] * 3 + [f"{shell.root}/sub"]
    assert {line["source"] for line in lines} == {"trap"}
    moment = datetime.strptime(lines[0]["at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert abs(moment.timestamp() - time.time()) < 30
    assert read_trace(shell.log.read_text())[0] == (round(moment.timestamp()) * 1000, "echo one")


def test_pipelines_loops_and_nested_scripts_are_traced_line_by_line(shell):
    (shell.root / "inner.sh").write_text("#!/bin/bash\necho inner | cat\n")
    shell.run("for x in 1 2; do echo $x; done; bash inner.sh; bash -c 'echo deep; true'; sh -c 'echo dash'")
    assert shell.commands == [
        "for x in 1 2", "echo $x", "for x in 1 2", "echo $x", "bash inner.sh", "echo inner", "cat",
        "bash -c 'echo deep; true'", "echo deep", "true", "sh -c 'echo dash'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        'a "quoted" \\ one',
        "tab\tand\nline\r\nends",
        "ünï ☃ 😀",
        "\x1b[31mred\x01",
        "& $(x) `y` %s \\n {} *",
        "''",
    ],
)
def test_any_text_survives(shell, text):
    script = "cat <<'EOF-SPHYNX'\n" + text + "\nEOF-SPHYNX"
    shell.run(script)
    assert shell.commands == [script + "\n"]


def test_bytes_that_are_no_text_do_not_lose_the_line(shell):
    shell.run("true")
    shell.log.unlink()
    env = {**os.environ, "BASH_ENV": str(shell.script), "SPHYNX_TRACE_LOG": str(shell.log)}
    subprocess.run([b"bash", b"-c", b": \xff\xfe; true"], env=env, check=True)
    found = read_trace(shell.log.read_bytes().decode("utf-8", "replace"))
    assert [command for _, command in found] == [": \ufffd\ufffd", "true"]


def test_long_commands_are_kept_whole_and_in_no_time(shell):
    script = ": '" + 'say "hi" \\ ü\n' * 9_000 + "'\ntrue"
    (shell.root / "long.sh").write_text(script)
    began = time.monotonic()
    shell.run("bash long.sh")
    assert time.monotonic() - began < 5
    assert shell.commands == ["bash long.sh", script.removesuffix("\ntrue"), "true"]


SCRIPTS = [
    "set -eu; false || echo or; x=; [ -z \"$x\" ]; echo end; false; echo never",
    "set -u; echo ${unset-fine}; echo $unset; echo never",
    "set -x; echo traced; f() { echo in; }; f; (echo sub); set +x; echo quiet",
    "true; echo $?; false; echo $?; false | true; echo ${PIPESTATUS[*]}; ! true; echo $?",
    "echo a b >/dev/null; echo $_; : x y; echo $_",
    "trap 'echo bye; exit 4' EXIT; trap 'echo err' ERR; false; echo on",
    "set -E; trap 'echo err $?' ERR; f() { false; }; f; [[ a = b ]]; echo on",
    "trap 'echo mine' DEBUG; echo one; trap - DEBUG; echo two",
    "set -T; trap 'echo return' RETURN; f() { echo in; }; f; echo out",
    "shopt -s extdebug nocasematch failglob nullglob; echo one; case A in a) echo match;; esac",
    "IFS=ab; x='1a2b3'; echo $x; set -f; echo *; set -C; echo x > new; echo y > new; cat new",
    "printf() { echo mine; }; date() { echo mine; }; printf x; unset -f printf; printf 'y\\n'",
    "[[ abc =~ b(.) ]]; echo ${BASH_REMATCH[1]}; echo next; echo ${BASH_REMATCH[1]}",
    "export TZ=America/New_York; echo $TZ; declare -r LANG=C; echo ${#LANG}; echo ü | wc -m",
    "read -r a b <<< 'x y'; echo $b; mapfile -t m < <(printf '1\\n2\\n'); echo ${#m[@]}",
    "exec 2>&-; echo one; exec 1>&-; echo two",
    "sleep 0.05 & wait $!; echo $?; kill -0 $! 2>/dev/null; echo $?",
    "echo $LINENO; f() { return 3; }; f || echo $? $FUNCNAME; caller; echo $BASH_SUBSHELL",
    "set -o posix; echo posix; set -o pipefail; false | true; echo $?",
    "cd /; echo $PWD; cd - >/dev/null; echo ~ $OLDPWD",
    "bash -c 'exit 7'; echo $?; exec bash -c 'echo replaced; exit 9'",
    "set -a; x=1; bash -c 'echo $x; env | grep -c __sx'",
    "ulimit -n 20; echo limited; for i in 1 2 3; do echo $i; done",
]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_does_the_same_with_and_without_the_recorder(shell, script):
    plain = shell.run(script, recorded=False)
    for path in shell.root.glob("new"):
        path.unlink()
    recorded = shell.run(script)
    assert (recorded.stdout, recorded.stderr, recorded.returncode) == (
        plain.stdout, plain.stderr, plain.returncode,
    )  # fmt: skip
    assert shell.commands


@pytest.mark.parametrize("log", ["/nowhere/at/all/x.ndjson", "/proc/self/mem", "/dev/full"])
def test_a_log_that_cannot_be_written_changes_nothing(shell, log):
    script = "set -eu; echo one; false || echo two"
    done = shell.run(script, SPHYNX_TRACE_LOG=log)
    assert (done.stdout, done.stderr, done.returncode) == ("one\ntwo\n", "", 0)


def test_without_a_log_nothing_is_installed(shell):
    done = shell.run("trap -p DEBUG; declare -F", SPHYNX_TRACE_LOG="")
    assert done.stdout == ""


def test_the_folder_of_the_log_is_made(shell):
    assert not shell.log.parent.exists()
    shell.run("true")
    assert shell.log.exists()


def test_it_forks_nothing(shell):
    """In a process id namespace of its own, the next child's id tells how many forks there were."""
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system gives no process id namespaces")
    shell.log.parent.mkdir(parents=True)
    script = 'for i in {1..50}; do echo "$i\tx"; cd .; done >/dev/null; : & echo $!'
    env = {**ENV, "BASH_ENV": str(shell.script), "SPHYNX_TRACE_LOG": str(shell.log)}
    done = subprocess.run(
        [*unshare, "bash", "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n"
    assert len(shell.commands) > 150


def test_shells_that_write_at_once_keep_their_lines_apart(shell):
    shell.run("for n in {1..20}; do bash -c 'for i in {1..20}; do : $0 $i; done' $n & done; wait")
    found = shell.commands
    assert sum(command.startswith(": $0 $i") for command in found) == 400


def test_zsh_is_traced_when_it_sources_the_recorder(shell):
    zsh = shutil.which("zsh")
    if zsh is None:
        pytest.skip("zsh is not installed")
    script = f'. {shell.script}\nset -eu\necho "a \\"b\\""\nfalse || echo or\n'
    env = {**ENV, "SPHYNX_TRACE_LOG": str(shell.log)}
    done = subprocess.run([zsh, "-f", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == 'a "b"\nor\n'
    assert 'echo "a \\"b\\""' in shell.commands


GOOD = '{"at":"2026-11-30T22:38:12Z","cwd":"/","argv":"ls","source":"trap"}'


@pytest.mark.parametrize(
    "line",
    [
        "", "text", "[]", "null", '"x"', "{}", GOOD[:-9], GOOD + GOOD, "[" * 100_000,
        GOOD.replace('"ls"', "1"), GOOD.replace('"ls"', '" "'),
        GOOD.replace("2026-11-30T22:38:12Z", "yesterday"), GOOD.replace('"2026-11-30T22:38:12Z"', "7"),
        GOOD.replace("2026", "0000"),
    ],
)  # fmt: skip
def test_lines_that_are_no_trace_are_left_out(line):
    assert read_trace(f"{GOOD}\n{line}\n{GOOD}\n") == [(1796078292000, "ls")] * 2


@given(st.text())
def test_any_text_at_all_can_be_read(text):
    assert isinstance(read_trace(text), list)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), max_size=5))
def test_what_was_written_as_json_is_read_back(commands):
    lines = [json.dumps({"at": "2026-11-30T22:38:12Z", "argv": command}) for command in commands]
    assert [command for _, command in read_trace("\n".join(lines))] == commands
