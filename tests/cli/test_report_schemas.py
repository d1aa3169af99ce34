"""Reports of real runs are what docs/reference says they are."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import CommandLine
from jsonschema import Draft202012Validator

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a run passed, failed, was void and ran out of time, and left both reports."""
    project = CommandLine(tmp_path_factory.mktemp("reported"))
    project.agent("printf hello > hello.txt")
    project.suite(
        """
        async def refuses(ctx):
            raise ValueError("<broken> & void")

        smoke = suite(id="smoke", prompt="Write hello", variants=[variant(**AGENT)], trials=2,
            cases=[case(id="good", validate=command("test -f hello.txt")),
                   case(id="bad", validate=command("test -f other.txt")),
                   case(id="void", validate=[refuses]),
                   case(id="late", validate=command("sleep 9", timeout_ms=1000))])
        """
    )
    done = project.sphynx("eval", "--local", "--output", "report.json", "--junit", "report.xml")
    assert done.code == 2, done.err
    return project.root


def test_the_report_keeps_to_its_json_schema(reported: Path) -> None:
    schema = json.loads((DOCS / "eval-report.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    report = json.loads((reported / "report.json").read_text())
    Draft202012Validator(schema).validate(report)
    assert len(report[0]["batch"]["runs"]) == 4
    broken = [{**report[0], "batch": {**report[0]["batch"], "status": "maybe"}}]
    assert not Draft202012Validator(schema).is_valid(broken)
    assert not Draft202012Validator(schema).is_valid([{"batchId": None}])


@pytest.mark.skipif(not shutil.which("xmllint"), reason="xmllint is not installed")
def test_the_junit_report_keeps_to_its_schema(reported: Path) -> None:
    def checked(path: Path) -> int:
        command = ["xmllint", "--noout", "--schema", str(DOCS / "junit.xsd"), str(path)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    whole = reported / "report.xml"
    assert checked(whole) == 0
    broken = reported / "broken.xml"
    broken.write_text(whole.read_text().replace("<failure ", "<fault ").replace("</failure>", "</fault>"))
    assert checked(broken) != 0
