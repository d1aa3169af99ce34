"""``pytest --sphynx smoke_eval.py``: every case on every variant is a test. Off unless asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sphynx.errors import SphynxError


class NotPassed(Exception):
    """Trials that did not pass, as lines."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The switch."""
    group = parser.getgroup("sphynx", "evals of coding agents")
    group.addoption("--sphynx", action="store_true", help="Run the cases of *_eval.py files on this machine")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Eval files, when they were asked for."""
    if parent.config.getoption("--sphynx") and file_path.name.endswith("_eval.py"):
        return EvalFile.from_parent(parent, path=file_path)
    return None


class EvalFile(pytest.File):
    """One eval file: an item per case and variant of its suites."""

    def collect(self) -> Iterator[pytest.Item]:
        """Compile the file. What is wrong with it fails the collection with its own words."""
        from sphynx.engine import LocalOptions, plan_local

        try:
            plan = plan_local([self.path], LocalOptions(cwd=self.config.invocation_params.dir))
        except SphynxError as error:
            raise self.CollectError(_told(error)) from None
        for planned in plan.suites:
            for case in planned.cases:
                for variant in planned.variants:
                    name = f"{planned.compiled.suite.id}::{case.case.id}[{variant.label}]"
                    item = EvalItem.from_parent(self, name=name)
                    item.wanted = (planned.compiled.suite.id, case.case.id, variant.label)
                    yield item


class EvalItem(pytest.Item):
    """One case on one variant, with as many trials as its suite asks for."""

    wanted: tuple[str, str, str] = ("", "", "")

    def runtest(self) -> None:
        """Run its trials. Each has to pass."""
        import asyncio

        from sphynx.engine import LocalOptions, plan_local, run_plan
        from sphynx.results import verdict

        suite, case, label = self.wanted
        options = LocalOptions(cwd=self.config.invocation_params.dir, cases=(case,), variants=(label,))
        plan = plan_local([self.path], options)
        plan.suites = [one for one in plan.suites if one.compiled.suite.id == suite]
        result = asyncio.run(run_plan(plan))[0]
        self.add_report_section("call", "sphynx", f"sphynx show {result.record.id}")
        lines = [
            f"trial {record.ordinal}: {line.strip()}"
            for record in result.trials
            if record.status != "passed"
            for line in verdict.of_record(record)
        ]
        if lines:
            raise NotPassed("\n".join(lines))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict, or the error in one line; a traceback of ours would help nobody."""
        if isinstance(excinfo.value, NotPassed):
            return str(excinfo.value)
        if isinstance(excinfo.value, SphynxError):
            return _told(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands."""
        return self.path, None, self.name


def _told(error: SphynxError) -> str:
    return error.message + (f"\nhint: {error.hint}" if error.hint else "")
