"""What the types promise is what runs inside the sandbox."""

from __future__ import annotations

import inspect

import pytest

from sphynx.guest import context as guest_context
from sphynx.guest import prepare as guest_prepare
from sphynx.guest import processes
from sphynx.suite import context as types
from sphynx.suite import named

PAIRS = [
    (types.Context, guest_context.Context),
    (types.PlainContext, guest_context.Context),
    (types.CallLog, guest_context.CallLog),
    (types.ApiLog, guest_context.ApiLog),
    (types.PlainCallLog, guest_context.CallLog),
    (types.PlainApiLog, guest_context.ApiLog),
    (types.PrepareContext, guest_prepare.PrepareContext),
]


def methods(of: type) -> dict[str, list[str]]:
    return {
        name: list(inspect.signature(member).parameters)
        for name, member in inspect.getmembers(of, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize(("promised", "real"), PAIRS)
def test_methods_agree(promised: type, real: type) -> None:
    """Every promised method is there with the promised parameters, and no other public one."""
    assert methods(promised) == methods(real)


def test_attributes_agree() -> None:
    """What the types call attributes a real context has."""
    real = guest_context.Context({}, workspace="/w", home="/h", tree="/t")
    for name in (*types.Context.__annotations__, *types.PlainContext.__annotations__):
        assert hasattr(real, name)
    for name in ("exit_code", "stdout", "stderr", "timed_out", "truncated"):
        assert name in types.Completed.__dict__
        assert hasattr(processes.ExecOutcome(0, "", ""), name)


def test_verdict() -> None:
    """Verdicts compare by what they say and cannot be used as keys."""
    made = types.Verdict(True, "m", score=0.5, metrics={"n": 1.0})
    assert made == types.Verdict(True, "m", 0.5, {"n": 1.0})
    assert made != types.Verdict(False, "m", 0.5, {"n": 1.0})
    assert made != True  # noqa: E712
    assert repr(made) == "Verdict(passed=True, message='m', score=0.5)"
    with pytest.raises(TypeError):
        hash(made)
    assert repr(named("n", len)) == "named('n')"
