"""Evals of coding agents: write a suite, run the real agent, trust the result.

Names are loaded when they are first used, so ``import sphynx`` costs next to nothing. The names of
``__all__`` need only the standard library and are there inside a check too.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as typing's, without the 8 ms that typing takes

if TYPE_CHECKING:
    from sphynx._version import __version__ as __version__
    from sphynx.client import AsyncSphynx as AsyncSphynx
    from sphynx.client import Sphynx as Sphynx
    from sphynx.errors import SphynxError as SphynxError
    from sphynx.registry import register_harness as register_harness
    from sphynx.suite.cases import case as case
    from sphynx.suite.checks import command as command
    from sphynx.suite.checks import named as named
    from sphynx.suite.context import Context as Context
    from sphynx.suite.context import PlainContext as PlainContext
    from sphynx.suite.context import Prepare as Prepare
    from sphynx.suite.context import PrepareContext as PrepareContext
    from sphynx.suite.context import Summary as Summary
    from sphynx.suite.context import Validator as Validator
    from sphynx.suite.context import Verdict as Verdict
    from sphynx.suite.skills.suites import skill_suite as skill_suite
    from sphynx.suite.sources import empty as empty
    from sphynx.suite.sources import files as files
    from sphynx.suite.sources import repo as repo
    from sphynx.suite.suites import suite as suite
    from sphynx.suite.variants import variant as variant
    from sphynx.validators.judge import judge as judge
    from sphynx.validators.people import human as human
    from sphynx.validators.people import script as script

_LAZY = {
    "AsyncSphynx": "sphynx.client",
    "Context": "sphynx.suite.context",
    "PlainContext": "sphynx.suite.context",
    "Prepare": "sphynx.suite.context",
    "PrepareContext": "sphynx.suite.context",
    "Sphynx": "sphynx.client",
    "SphynxError": "sphynx.errors",
    "Summary": "sphynx.suite.context",
    "Validator": "sphynx.suite.context",
    "Verdict": "sphynx.suite.context",
    "__version__": "sphynx._version",
    "case": "sphynx.suite.cases",
    "command": "sphynx.suite.checks",
    "empty": "sphynx.suite.sources",
    "files": "sphynx.suite.sources",
    "human": "sphynx.validators.people",
    "judge": "sphynx.validators.judge",
    "named": "sphynx.suite.checks",
    "register_harness": "sphynx.registry",
    "repo": "sphynx.suite.sources",
    "script": "sphynx.validators.people",
    "skill_suite": "sphynx.suite.skills.suites",
    "suite": "sphynx.suite.suites",
    "variant": "sphynx.suite.variants",
}

# What needs more than the standard library stays out, so that a star import works inside a check.
__all__ = [
    "Context",
    "PlainContext",
    "Prepare",
    "PrepareContext",
    "SphynxError",
    "Summary",
    "Validator",
    "Verdict",
    "__version__",
    "case",
    "command",
    "empty",
    "files",
    "human",
    "judge",
    "named",
    "repo",
    "script",
    "skill_suite",
    "suite",
    "variant",
]

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in _LAZY:
            raise AttributeError(f"module 'sphynx' has no attribute {name!r}")
        value = _load(name)
        if name != "suite":
            globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_LAZY})

    def _load(name):
        from importlib import import_module

        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            from sphynx.errors import SphynxError

            raise SphynxError(
                f"sphynx.{name} is not available here: it needs {error.name}",
                hint="a check in a sandbox has the builders only: import the rest where it is used",
            ) from None

    class _Package(type(sys)):
        """``sphynx.suite`` is the builder, though importing the room of that name binds the room here."""

        @property
        def suite(self):
            if "suite" not in _found:
                _found["suite"] = _load("suite")
            return _found["suite"]

        @suite.setter
        def suite(self, value):
            if not isinstance(value, type(sys)):
                _found["suite"] = value

    _found = {}
    sys.modules[__name__].__class__ = _Package
