"""The entry point itself: help, version, completions, how fast it is there."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys

import pytest
from command_line import SPHYNX, CommandLine

from sphynx._version import __version__


def test_version_and_help(project: CommandLine) -> None:
    for flag in ("--version", "-V"):
        assert project.sphynx(flag).out == f"sphynx {__version__}\n"
    for args in ([], ["--help"], ["-h"]):
        done = project.sphynx(*args)
        assert (done.code, done.err) == (0, "")
        for name in ("eval", "show", "clean", "doctor"):
            assert f"\n  {name} " in done.out


def test_every_command_has_help(project: CommandLine) -> None:
    for name in ("eval", "show", "clean", "doctor"):
        done = project.sphynx(name, "--help")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith(f"Usage: sphynx {name}")


def test_an_unknown_command_is_an_error_with_1_not_the_gates_2(project: CommandLine) -> None:
    done = project.sphynx("evl")
    assert done.code == 1
    assert done.errors[0].startswith("error: no such command: evl")
    assert done.errors[1] == "  hint: did you mean eval?"


def test_a_wrong_option_says_what_it_takes_and_what_it_was_given(project: CommandLine) -> None:
    for args, said, hint in (
        (["--trials", "0"], "--trials must be at least 1, not 0", "sphynx eval --help lists what there is"),
        (["--trials", "11"], "--trials must be at most 10, not 11", None),
        (["-j", "many"], "--jobs must be a whole number, not many", None),
        (["--timeout", "soon"], "--timeout must be a number, not soon", None),
        (["--fail-on", "x"], "--fail-on: 'x' is not one of 'failures', 'strict', 'never'", None),
        (["--outptu", "x"], "no such option: --outptu", "did you mean --output?"),
    ):
        done = project.sphynx("eval", "--local", *args)
        assert (done.code, done.out, done.errors[0]) == (1, "", f"error: {said}")
        assert hint is None or done.errors[1] == f"  hint: {hint}"
    assert project.sphynx("doctor", "x").errors[0] == "error: unexpected argument: x"


COMPLETED = {
    "sphynx wh": "whoami",
    "sphynx eval --self": "--self-test",
    "sphynx eval --fail-on str": "strict",
    "sphynx env im": "import",
}
"""A line, and what a tab at its end makes of it."""
ZPTY = """
zmodload zsh/zpty
zpty shell zsh -f -i
say() { zpty -w shell "$1"; }
say "PS1='> '; stty -echo; setopt no_beep; fpath=(FOLDER \\$fpath); autoload -Uz compinit; compinit -u -D"
say "zstyle ':completion:*' insert-tab false"
say "widget() { print -r -- \\"<\\$BUFFER>\\"; BUFFER= }; zle -N widget; bindkey '^X' widget; print rea''dy"
until zpty -r shell line && [[ $line == *ready* ]]; do :; done
ask() {
  zpty -w -n shell "$1"$'\\t'
  zpty -w -n shell $'\\x18'
  until zpty -r shell line && [[ $line == *\\<*\\>* ]]; do :; done
  print -r -- "== $line"
}
ask 'sphynx ' >/dev/null # its editor may not be there yet
KEYS
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_scripts_their_shell_can_read(project: CommandLine, shell: str) -> None:
    done = project.sphynx("--completions", shell)
    assert (done.code, done.err) == (0, "")
    assert "--fail-on" in done.out or "-l fail-on" in done.out
    if shutil.which(shell):
        read = subprocess.run([shell, "-n"], input=done.out, text=True, capture_output=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")


def test_bash_completes_commands_options_and_values(project: CommandLine) -> None:
    script = project.sphynx("--completions", "bash").out
    for words, expected in (
        (["sphynx", "ev"], "eval"),
        (["sphynx", "eval", "--self"], "--self-test"),
        (["sphynx", "eval", "--fail-on", "str"], "strict"),
        (["sphynx", "env", "im"], "import"),
        (["sphynx", "eval", "imp"], "import"),
    ):
        quoted = " ".join(f"'{word}'" for word in words)
        asked = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _sphynx; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=False
        )
        assert done.stdout.split() == [expected], done.stderr


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_commands_options_and_values(project: CommandLine) -> None:
    script = project.root / "sphynx.fish"
    script.write_text(project.sphynx("--completions", "fish").out)
    asked = "\n".join(f"complete -C '{line}'; echo ==" for line in COMPLETED)
    done = subprocess.run(
        ["fish", "-c", f"source {script}\n{asked}"], capture_output=True, text=True, check=False,
        env=project.environment(HOME=str(project.root)),
    )  # fmt: skip
    found = [{line.split("\t")[0] for line in part.splitlines()} for part in done.stdout.split("==\n")]
    for line, expected, words in zip(COMPLETED, COMPLETED.values(), found, strict=False):
        assert expected in words, (line, words, done.stderr)


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_commands_options_and_values(project: CommandLine) -> None:
    """In a terminal of its own, as a person presses tab."""
    folder = project.root / "functions"
    folder.mkdir()
    (folder / "_sphynx").write_text(project.sphynx("--completions", "zsh").out)
    keys = "\n".join(f"ask '{line}'" for line in COMPLETED)
    (project.root / "ask.zsh").write_text(ZPTY.replace("FOLDER", str(folder)).replace("KEYS", keys))
    done = subprocess.run(
        ["zsh", "-f", "ask.zsh"], cwd=project.root, capture_output=True, text=True, check=False, timeout=50,
        env=project.environment(TERM="dumb"), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    answers = done.stdout.split("== ")[1:]
    for answer, expected in zip(answers, COMPLETED.values(), strict=True):
        assert expected in answer, done.stdout + done.stderr


def test_completions_for_another_shell_are_refused(project: CommandLine) -> None:
    done = project.sphynx("--completions", "tcsh")
    assert (done.code, done.errors[1]) == (1, "  hint: there are: zsh, bash, fish")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom sphynx.cli.main import main\nmain(['--help'])\n"
        "print([m for m in ('pydantic', 'httpx', 'rich', 'anyio', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_takes_at_most_three_interpreters_and_100_ms() -> None:
    """Counted in processor time, the least of five: what else the machine does is not the question."""

    def least(command: list[str]) -> float:
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

    assert least([SPHYNX, "--help"]) <= 3 * least([sys.executable, "-c", "pass"]) + 0.1
