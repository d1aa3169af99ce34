"""The local sandbox keeps every promise of the contract, in each of its forms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandboxes.conftest import ENV
from sphynx.sandboxes.conformance import CHECKS, SPEC, Check, run
from sphynx.sandboxes.local import LocalBackend
from sphynx.sandboxes.local_root import LocalRoot

pytestmark = pytest.mark.anyio
each_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)


@each_check
async def test_supervised(check: Check, backend: LocalBackend) -> None:
    await run(check, backend)


@pytest.mark.isolate
@each_check
async def test_isolated(check: Check, backend: LocalBackend, isolating: None) -> None:
    await run(check, backend, replace(SPEC, isolate=True))


@pytest.mark.load
@each_check
async def test_process_groups(check: Check, root: LocalRoot) -> None:
    """The form for systems without /proc: it works on Linux too, so that its promises are tried here."""
    backend = LocalBackend(root, env=ENV, supervised=False)
    try:
        await run(check, backend)
    finally:
        await backend.aclose()


def test_there_are_enough_checks() -> None:
    """The suite that third parties run covers at least forty promises, each said in words."""
    assert len(CHECKS) >= 40
    assert all(check.promise for check in CHECKS)
    assert len({check.name for check in CHECKS}) == len(CHECKS)
