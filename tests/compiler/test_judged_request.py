"""Judges and people in the request to a server and in a case's identity."""

from __future__ import annotations

import pytest

from sphynx.compiler import compile_eval, compile_files
from sphynx.errors import CompileError

FILE = """
from sphynx import case, human, judge, suite
from sphynx.validators import transcript_contains

def check(ctx):
    return True

tone = judge(name="tone", {asked}, model="gpt-5.4", prompt={prompt!r}, expected="yes",
             choices={{"good": 1, "bad": 0}}, files=["a.md"]{more})
s = suite(id="s", prompt="p", cases=[
    case(id="both", validate=[check, tone], user=human(goal="g", prompt="b")),
    case(id="only", validate=tone, user=human(goal="g", prompt="b", harness="codex", model="m")),
], variants=[dict(harness="codex", model="m")])
"""


def text(asked: str = 'provider="openai"', prompt: str = "P", more: str = "") -> str:
    return FILE.format(asked=asked, prompt=prompt, more=more)


def hashes(write, staging, file: str) -> list[str]:
    root = write({"evals/s_eval.py": file})
    (compiled,) = compile_files(["evals/s_eval.py"], cwd=root, staging=staging)
    return [case.definition_hash for case in compiled.cases]


def test_a_judged_validator_and_people_on_the_wire(write) -> None:
    """The judged arm holds the code program and the judges; a case of judges alone has no program."""
    write({"evals/s_eval.py": text(more=", votes=3")})
    (request,) = compile_eval("evals/s_eval.py")
    both, only = request.wire()["cases"]
    validator = both["validator"]
    assert (validator["kind"], validator["name"]) == ("judged", "2 checks")
    assert [check["name"] for check in validator["checks"]] == ["check"]
    assert validator["checks"][0]["manifest"] == [{"index": 0, "name": "check"}]
    assert "export" in validator["checks"][0]["source"] or "import" in validator["checks"][0]["source"]
    assert validator["sourceFiles"][0]["path"] == "evals/s_eval.py"
    (judge,) = validator["judges"]
    assert judge == {
        "kind": "judge", "name": "tone", "model": "gpt-5.4", "prompt": "P", "expected": "yes",
        "choices": {"good": 1, "bad": 0}, "files": ["a.md"], "threshold": 1, "timeoutMs": 120_000,
        "provider": "openai",
    }  # fmt: skip
    assert both["x-sphynx"] == {"judges": {"tone": {"votes": 3}}}
    assert both["user"] == {"kind": "simulated", "goal": "g", "prompt": "b"}
    assert (only["validator"]["checks"], only["validator"]["name"]) == ([], "tone")
    assert only["user"] == {"kind": "simulated", "goal": "g", "prompt": "b", "harness": "codex", "model": "m"}


def test_changing_a_judge_changes_the_case(write, staging) -> None:
    """Its prompt, who is asked, how often, and whether it looks around are all part of the definition."""
    seen = [hashes(write, staging, text())]
    for changed in (
        text(prompt="Q"),
        text(more=", threshold=0.5"),
        text(more=", votes=3"),
        text('harness="codex"'),
        text('harness="codex"').replace(', files=["a.md"]', ", workspace=True"),
    ):
        seen.append(hashes(write, staging, changed))
    assert len({tuple(found) for found in seen}) == len(seen)
    # Code of the file is part of a case with code checks only.
    assert hashes(write, staging, text() + "# note\n")[1] == seen[0][1]


def test_an_agent_only_known_here_cannot_judge_on_a_server(write) -> None:
    """The refusal names the judge."""
    changed = "from sphynx.suite import harness_names\nharness_names.announce('mine')\n"
    write({"evals/s_eval.py": changed + text('harness="mine"')})
    with pytest.raises(CompileError, match='judge "tone": harness "mine" only runs here'):
        compile_eval("evals/s_eval.py")
