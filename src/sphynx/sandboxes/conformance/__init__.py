"""What every sandbox must do, as checks that any backend can be put through.

Each check is an ``async`` function that takes a fresh sandbox and asserts; ``run`` opens and closes it::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
    async def test_conformance(check):
        await run(check, MyBackend())

They need a POSIX system inside, with ``bash`` and the usual small programs.
"""

from sphynx.sandboxes.conformance import ending, files, folders, lifetime, streams, surroundings
from sphynx.sandboxes.conformance.checks import CHECKS, SPEC, Check, run

__all__ = [
    "CHECKS",
    "SPEC",
    "Check",
    "ending",
    "files",
    "folders",
    "lifetime",
    "run",
    "streams",
    "surroundings",
]
