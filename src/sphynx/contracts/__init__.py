"""What the engine asks of its plug-ins: sandboxes, harnesses, sinks. Protocols and plain values only."""

from sphynx.contracts.harness import Harness, HarnessSetup, RunFunction, TurnResult
from sphynx.contracts.results import ResultSink, TrialKey
from sphynx.contracts.sandbox import (
    BundleRef,
    ExecResult,
    GuestRequest,
    OnChunk,
    OnFrame,
    Sandbox,
    SandboxBackend,
    SandboxSpec,
)

__all__ = [
    "BundleRef",
    "ExecResult",
    "GuestRequest",
    "Harness",
    "HarnessSetup",
    "OnChunk",
    "OnFrame",
    "ResultSink",
    "RunFunction",
    "Sandbox",
    "SandboxBackend",
    "SandboxSpec",
    "TrialKey",
    "TurnResult",
]
