"""What ``sphynx eval`` was asked for, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sphynx.cli.option_rules import refuse_idle_reports
from sphynx.engine import LocalOptions
from sphynx.engine.options import default_jobs
from sphynx.engine.skills import DEFAULT_AGENT, SkillRequest, is_skill_path
from sphynx.errors import UsageError
from sphynx.suite.skills.suites import ARMS

_AFTER_A_RUN = ("--baseline", "--markdown", "--skill-report", "--export-benchmark")
"""Options for skills that a resumed run takes too."""


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """The options of one command line. ``None`` means not given."""

    paths: tuple[Path, ...] = ()
    cases: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    trials: int | None = None
    jobs: int | None = None
    fail_on: str = "failures"
    gate_named: bool = False
    """Whether --fail-on was given."""
    timeout_s: float | None = None
    output: Path | None = None
    junit: Path | None = None
    json: bool = False
    resume: str | None = None
    retry_void: bool = False
    isolate: bool = False
    keep_workspace: bool = False
    harness_versions: tuple[str, ...] = ()
    """``NAME=VERSION``, as given."""
    use_login: bool = False
    dry_run: bool = False
    self_test: bool = False
    skill: SkillRequest = field(default_factory=SkillRequest)
    yes: bool = False
    markdown: Path | None = None
    skill_report: Path | None = None
    export_benchmark: Path | None = None
    baseline: str | None = None

    def check(self) -> None:
        """Raise ``UsageError`` for options that do not go together, before anything is read or started."""
        if self.timeout_s is not None and not self.timeout_s > 0:  # also what is not a number
            raise UsageError(f"--timeout must be more than 0 seconds, got {self.timeout_s:g}")
        if self.resume is None and self.retry_void:
            raise UsageError("--retry-void needs --resume BATCH")
        if self.resume is not None:
            self._check_resume()
        if self.dry_run and self.self_test:
            raise UsageError("--dry-run and --self-test exclude each other")
        if self.dry_run and self.json:
            raise UsageError(
                "--dry-run has no JSON form", hint="its exit code says whether all keys are there"
            )
        if self.self_test and self.json:
            raise UsageError(
                "--self-test has no JSON form", hint="its exit code says whether the cases are good"
            )
        files = {
            "--output": self.output, "--junit": self.junit, "--markdown": self.markdown,
            "--skill-report": self.skill_report,
        }  # fmt: skip
        for name, path in files.items():
            if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
                raise UsageError(f"{name}: cannot write {path}", hint="name a file in a folder that exists")
        refuse_idle_reports(self)

    @property
    def skills(self) -> list[Path]:
        """Paths that mean skills."""
        return [path for path in self.paths if is_skill_path(path)]

    @property
    def skill_options(self) -> list[str]:
        """Options for skills that were given."""
        plain, own = SkillRequest(), self.skill
        given = {
            "--agent": own.agents, "--arms": own.arms != plain.arms, "--old-ref": own.old_ref,
            "--skill-use": own.use != plain.use, "--judge": own.judge, "--limit": own.limit,
            "--sample": own.sample, "--baseline": self.baseline, "--markdown": self.markdown,
            "--skill-report": self.skill_report, "--export-benchmark": self.export_benchmark,
        }  # fmt: skip
        return [name for name, value in given.items() if value]

    def _check_resume(self) -> None:
        given = {
            "PATH": self.paths, "--case": self.cases, "--variant": self.variants, "--trials": self.trials,
            "--self-test": self.self_test, "--harness-version": self.harness_versions,
        }  # fmt: skip
        wrong = [name for name, value in given.items() if value]
        wrong += [name for name in self.skill_options if name not in _AFTER_A_RUN]
        if wrong:
            raise UsageError(
                f"--resume takes what the batch was started with; it cannot be used with {wrong[0]}"
            )

    def _versions(self) -> dict[str, str]:
        versions: dict[str, str] = {}
        for given in self.harness_versions:
            name, equals, version = given.partition("=")
            if not (name and equals and version):
                raise UsageError(f"--harness-version takes NAME=VERSION, such as codex=0.171.0, not {given}")
            versions[name] = version
        return versions

    def options(self) -> LocalOptions:
        """The engine's options."""
        return LocalOptions(
            jobs=self.jobs or default_jobs(),
            trials=self.trials,
            cases=self.cases,
            variants=self.variants,
            isolate=self.isolate,
            timeout_s=self.timeout_s,
            retry_void=self.retry_void,
            keep_workspace=self.keep_workspace,
            harness_versions=self._versions(),
            use_login=self.use_login,
        )


def skill_request(
    agents: Sequence[str] | None, arms: str, old_ref: str | None, use: str, judge: str | None,
    limit: int | None, sample: int | None,
) -> SkillRequest:  # fmt: skip
    """The options for skills, checked together. ``UsageError`` says which do not fit."""
    named = tuple(dict.fromkeys(arm.strip() for arm in arms.split(",") if arm.strip()))
    wrong = next((arm for arm in named if arm not in ARMS), None)
    if wrong is not None or not named:
        raise UsageError(f'--arms takes {", ".join(ARMS)}, not "{wrong or arms}"')
    if "old" in named and old_ref is None:
        raise UsageError("--arms old needs --old-ref REF")
    if old_ref is not None and "old" not in named:
        raise UsageError("--old-ref needs the arm old", hint="--arms with,old")
    for name, value in (("--agent", agents or ()), ("--judge", (judge,) if judge else ())):
        for one in value:
            if "/" not in one.strip("/"):
                raise UsageError(f"{name} takes HARNESS/MODEL, such as {DEFAULT_AGENT}, not {one}")
    return SkillRequest(tuple(agents or ()), named, old_ref, use, judge, limit, sample)
