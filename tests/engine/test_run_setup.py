"""What a batch says its runs were made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project
from sphynx.results.wire import batch_to_wire

pytestmark = pytest.mark.anyio

SUITE = """
    KEY = "sk-abcdefghij0123456789klm"
    def seeds(ctx): return {{}}
    def says_hello(ctx): return True
    demo = suite(
        id="demo", prompt="Do {{{{what}}}}", {fields}
        cases=[case(id="one", variables={{"what": "it"}}, prepare=seeds, validate=says_hello)],
        variants=[variant(harness="nop", model="none")],
    )
"""


async def test_a_run_names_its_prompt_source_and_checks_and_keeps_their_text_redacted(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.suite(SUITE.format(fields='source=files({"a.txt": "a"}),'))
    result = await project.run()
    (run,) = batch_to_wire(result.record, result.trials, {})["runs"]
    setup = run["setup"]
    assert setup["prompt"] == "Do {{what}}"
    assert setup["source"] == {"kind": "files", "files": {"a.txt": "a"}}
    assert (setup["prepare"], setup["validator"], setup["verify"]) == ("seeds", "says_hello", None)
    (file,) = setup["validatorFiles"]
    assert file["path"] == "demo_eval.py" and "def says_hello" in file["content"]
    assert "sk-abcdefghij" not in file["content"]


async def test_capture_source_false_keeps_no_source_text(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.suite(SUITE.format(fields="capture_source=False,"))
    result = await project.run()
    (run,) = batch_to_wire(result.record, result.trials, {})["runs"]
    assert "validatorFiles" not in run["setup"]
