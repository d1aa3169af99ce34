"""The list of checks, and the little they share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sphynx.contracts import ExecResult, Sandbox, SandboxBackend, SandboxSpec

SPEC = SandboxSpec(trial_id="conformance", env={"SPEC_VARIABLE": "of the spec"})
"""What ``run`` opens; some checks rely on its variable."""

Body = Callable[[Sandbox], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of the sandbox contract: ``promise`` says it, ``body`` tries it."""

    name: str
    promise: str
    body: Body


CHECKS: list[Check] = []


def check(body: Body) -> Body:
    """Add ``body`` to the checks under its name; its docstring is the promise."""
    CHECKS.append(Check(body.__name__, (body.__doc__ or "").strip(), body))
    return body


async def run(check: Check, backend: SandboxBackend, spec: SandboxSpec = SPEC) -> None:
    """Open a sandbox, run one check in it, and close it whatever happened."""
    box = await backend.open(spec)
    try:
        await check.body(box)
    finally:
        await box.close()


async def sh(box: Sandbox, line: str, **options: object) -> ExecResult:
    """Run a line of bash."""
    return await box.exec(["bash", "-c", line], **options)  # type: ignore[arg-type]


async def refused(attempt: Awaitable[object]) -> bool:
    """Whether ``attempt`` ends in an ``OSError``."""
    try:
        await attempt
    except OSError:
        return True
    return False
