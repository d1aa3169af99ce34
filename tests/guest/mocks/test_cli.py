"""CLI mocks, run as the agent's shell runs them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

SOURCE = """
class Page(msgspec.Struct):
    size: int
    ratio: float = 1.0

class Listing(msgspec.Struct):
    sort_by: str = "name"
    all: bool = False
    limitTo: str = ""

def get(wanted):
    if wanted.id == "nobody":
        raise LookupError("User not found: nobody")
    return User(wanted.id, "Ada")

def create(wanted, ctx):
    time.sleep(0.05)
    ctx.state.setdefault("made", []).append(wanted.id)
    ctx.log(f"made {wanted.id}")
    return {"made": wanted.id}

users = cli(path="users", version="1.2.3", description="Users of the shop.", commands=[
    command(path=["get"], description="Get a user by id", input_schema=Wanted, output_schema=User,
            options={"id": {"description": "User ID", "type": "string"}}, handler=get),
    command(path=["list"], input_schema=Listing, handler=lambda given: given, options={
        "sort_by": {"description": "Order"}, "all": {"type": "boolean"}, "limitTo": {"name": "--max"}}),
    command(path=["list", "made"], handler=lambda nothing, ctx: ctx.state["made"]),
    command(path=["create"], input_schema=Wanted, options={"id": {}}, handler=create),
    command(path=["wrong"], output_schema=User, handler=lambda: {"id": 1}),
    command(path=["page"], input_schema=Page, options={"size": {}, "ratio": {}}, handler=lambda page: page),
    command(path=["big"], handler=lambda: "x" * 5_000_000),
])
other = cli(path="other", commands=[command(path=["go"], handler=lambda: None)])
"""


@pytest.fixture(scope="module")
def mocks(start: Any) -> Any:
    return start(SOURCE, cli="[users, other]", fixtures='{"made": ["first"]}')


def test_it_prints_json_and_logs_the_call(mocks: Any) -> None:
    done = mocks.run("users", "get", "--id", "u1")
    assert (done.returncode, done.stdout, done.stderr) == (0, '{\n  "id": "u1",\n  "name": "Ada"\n}\n', "")
    record = mocks.calls("cli")[-1]
    shown = {key: record[key] for key in ("cli", "command", "input", "output", "logs")}
    assert shown == {
        "cli": "users", "command": "get", "input": {"id": "u1"}, "output": {"id": "u1", "name": "Ada"},
        "logs": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        ([], {"sort_by": "name", "all": False, "limitTo": ""}),
        (["--sort-by=id", "--all"], {"sort_by": "id", "all": True, "limitTo": ""}),
        (["--max", "5", "--sort-by", "a b\n\nc"], {"sort_by": "a b\n\nc", "all": False, "limitTo": "5"}),
        (["--sort-by=a=b", "--max="], {"sort_by": "a=b", "all": False, "limitTo": ""}),
        (["--sort-by", "-x"], {"sort_by": "-x", "all": False, "limitTo": ""}),
    ],
)
def test_options_are_read_as_documented(mocks: Any, arguments: list[str], given: Any) -> None:
    """Kebab flags, a blank or an equals sign before the value, flags without a value, names of one's own."""
    done = mocks.run("users", "list", *arguments)
    assert json.loads(done.stdout) == given


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["get"], "users get: input object missing required field id"),
        (["get", "--id"], "users get: --id needs a value"),
        (["get", "--id", "a", "--id=b"], "users get: --id was given more than once"),
        (["get", "--name", "a"], "users get: unknown option --name"),
        (["get", "u1"], "users get: takes no positional arguments: u1"),
        (["list", "--all=true"], "users list: --all takes no value"),
        (["get", "--id", "nobody"], "User not found: nobody"),
        (["wrong"], "users wrong: output id: expected str, got int"),
    ],
)
def test_a_failure_goes_to_stderr_with_exit_code_1_and_is_logged(
    mocks: Any, arguments: list[str], said: str
) -> None:
    done = mocks.run("users", *arguments)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (1, "", said)
    assert mocks.calls("cli")[-1]["error"] in said
    assert mocks.broken() == []


def test_help_version_and_unknown_commands_are_not_logged(mocks: Any) -> None:
    before = len(mocks.calls("cli"))
    for arguments in ([], ["--help"], ["-h"]):
        done = mocks.run("users", *arguments)
        assert done.returncode == 0
        assert "Usage: users <command> [options]" in done.stdout
        assert "  get        Get a user by id\n" in done.stdout
    for arguments in (["--version"], ["-v"]):
        assert mocks.run("users", *arguments).stdout == "1.2.3\n"
    told = mocks.run("users", "get", "--help").stdout
    assert told == (
        "Get a user by id\n\nUsage: users get [options]\n\nOptions:\n"
        "  --id <value>  User ID (required)\n  -h, --help    show this help\n"
    )
    done = mocks.run("users", "destroy", "all")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("users: unknown command: destroy all\n")
    assert len(mocks.calls("cli")) == before


def test_the_longest_command_is_meant_and_state_lasts_between_starts(mocks: Any) -> None:
    """Two processes of the agent's see one state, which the case's fixtures began."""
    assert mocks.run("users", "create", "--id", "second").returncode == 0
    assert json.loads(mocks.run("users", "list", "made").stdout)[:2] == ["first", "second"]


def test_numbers_are_read_from_text(mocks: Any) -> None:
    """A command line has nothing but text; what is no number is refused."""
    assert json.loads(mocks.run("users", "page", "--size", "5", "--ratio=0.5").stdout) == {
        "size": 5,
        "ratio": 0.5,
    }
    assert mocks.run("users", "page", "--size", "five").stderr.startswith("users page: input size: ")


def test_a_large_output_is_printed_whole(mocks: Any) -> None:
    assert len(json.loads(mocks.run("users", "big").stdout)) == 5_000_000
    assert mocks.calls("cli")[-1]["output"]["truncated"] is True


def test_fifty_at_once_all_answer_and_are_all_logged(mocks: Any) -> None:
    before = len(mocks.calls("cli"))
    with ThreadPoolExecutor(50) as pool:
        done = list(pool.map(lambda n: mocks.run("users", "create", "--id", f"p{n}"), range(50)))
    assert {json.loads(one.stdout)["made"] for one in done} == {f"p{n}" for n in range(50)}
    assert len(mocks.calls("cli")) == before + 50


def test_a_second_program_has_its_own_log_entry(mocks: Any) -> None:
    assert mocks.run("other", "go").stdout == "null\n"
    assert mocks.calls("cli")[-1]["cli"] == "other"


def test_it_starts_faster_than_python_with_the_schemas_library(mocks: Any) -> None:
    """The handlers run elsewhere, so the program imports nothing."""

    def best(argv: list[str]) -> float:
        times = []
        for _ in range(7):
            begun = time.perf_counter()
            subprocess.run(argv, check=True, capture_output=True)
            times.append(time.perf_counter() - begun)
        return min(times)

    mine = best([str(mocks.home / ".local/bin/users"), "get", "--id", "u"])
    assert mine <= 2 * best([sys.executable, "-c", "import msgspec"])


def test_a_profiles_own_program_is_not_replaced(start: Any, tmp_path: Any) -> None:
    """The mocks do not start, and say why."""
    from guest.mocks.conftest import HEAD, TAIL, Mocks

    source = "one = cli(path='one', commands=[command(path=['go'], handler=lambda: 1)])"
    (tmp_path / "home/.local/bin").mkdir(parents=True)
    (tmp_path / "home/.local/bin/one").write_text("#!/bin/sh\n")
    mocks = Mocks(tmp_path, HEAD + source + TAIL.format(mcp="[]", cli="[one]", api="[]", fixtures="{}"))
    mocks.process.wait()
    mocks.close()
    (failed,) = [frame for frame in mocks.frames if frame["t"] == "failed"]
    assert failed["message"] == (
        "The mocks did not start: the profile already brings ~/.local/bin/one, where the CLI mock belongs"
    )
