"""Run evals on this machine: plan a run, run it, read what it left.

    plan = plan_local(["smoke_eval.py"], LocalOptions(jobs=2))
    results = await run_plan(plan)

or, in one call, ``run_local`` and ``run_local_sync``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphynx.engine.batch_folder import BatchFolder as BatchFolder
    from sphynx.engine.batch_folder import StoredBatch as StoredBatch
    from sphynx.engine.batch_folder import StoredTrial as StoredTrial
    from sphynx.engine.batch_folder import find_batch as find_batch
    from sphynx.engine.batch_folder import list_batches as list_batches
    from sphynx.engine.batch_folder import read_batch as read_batch
    from sphynx.engine.batch_folder import read_events as read_events
    from sphynx.engine.local import run_local as run_local
    from sphynx.engine.local import run_local_sync as run_local_sync
    from sphynx.engine.local import run_plan as run_plan
    from sphynx.engine.options import BatchResult as BatchResult
    from sphynx.engine.options import LocalOptions as LocalOptions
    from sphynx.engine.options import LocalPlan as LocalPlan
    from sphynx.engine.options import Need as Need
    from sphynx.engine.options import PlannedSuite as PlannedSuite
    from sphynx.engine.options import SelfTestRow as SelfTestRow
    from sphynx.engine.plan import plan_local as plan_local
    from sphynx.engine.resume import plan_resume as plan_resume
    from sphynx.engine.self_testing import self_test as self_test
    from sphynx.engine.skills import SkillRequest as SkillRequest
    from sphynx.engine.skills import plan_paths as plan_paths
    from sphynx.engine.stop import Stop as Stop

_HOMES = {
    "batch_folder": (
        "BatchFolder",
        "StoredBatch",
        "StoredTrial",
        "find_batch",
        "list_batches",
        "read_batch",
        "read_events",
    ),
    "local": ("run_local", "run_local_sync", "run_plan"),
    "options": ("BatchResult", "LocalOptions", "LocalPlan", "Need", "PlannedSuite", "SelfTestRow"),
    "plan": ("plan_local",),
    "resume": ("plan_resume",),
    "self_testing": ("self_test",),
    "skills": ("SkillRequest", "plan_paths"),
    "stop": ("Stop",),
}
_LAZY = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BatchFolder",
    "BatchResult",
    "LocalOptions",
    "LocalPlan",
    "Need",
    "PlannedSuite",
    "SelfTestRow",
    "SkillRequest",
    "Stop",
    "StoredBatch",
    "StoredTrial",
    "find_batch",
    "list_batches",
    "plan_local",
    "plan_paths",
    "plan_resume",
    "read_batch",
    "read_events",
    "run_local",
    "run_local_sync",
    "run_plan",
    "self_test",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
