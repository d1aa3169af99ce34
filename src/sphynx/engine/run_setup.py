"""What a run was made of, for its record: prompt, workspace, setup and checks, without credentials."""

from __future__ import annotations

from typing import Any

from sphynx.compiler.compiled import CompiledCase, CompiledSuite
from sphynx.compiler.definition import source_value
from sphynx.compiler.sources import captured
from sphynx.engine.sources import split_credentials
from sphynx.redaction import Redactor


def run_setup(compiled: CompiledSuite, case: CompiledCase) -> dict[str, Any]:
    """The wire's ``EvalSetup`` but for the captured files, which a batch keeps once.

    ``prepare`` and ``validator`` name the functions; their text is in the captured files.
    """
    source = source_value(case.source)
    if source["kind"] == "repo":
        source["url"] = split_credentials(source["url"]).url
    checks = ", ".join(check.name for check in (*case.case.checks, *case.case.judges))
    prepare = case.case.prepare
    return {
        "prompt": compiled.suite.prompt,
        "source": source,
        "prepare": getattr(prepare, "__name__", "prepare") if prepare else None,
        "validator": checks or None,
        "verify": case.case.command.command if case.case.command else None,
    }


def source_files(compiled: CompiledSuite) -> list[dict[str, str]]:
    """The authors' own source files, key shapes redacted; none with ``capture_source=False``."""
    if compiled.contents is None or not compiled.suite.capture_source:
        return []
    redactor = Redactor(())
    return [{**file, "content": redactor.text(file["content"])} for file in captured(compiled.contents)]
