"""The ``local`` sandbox: trials on this machine, each under a supervisor that ends all it started.

    LocalBackend ── one zygote per bundle ──fork──> one supervisor per trial ──> commands, guest functions

The zygote and the supervisors (``zygote``, ``supervisor``, ``killing``, ``wire``) use the standard library
only and import little: this package loads nothing until a name is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphynx.sandboxes.local.backend import LocalBackend as LocalBackend
else:

    def __getattr__(name: str) -> object:
        if name == "LocalBackend":
            from sphynx.sandboxes.local.backend import LocalBackend

            return LocalBackend
        raise AttributeError(name)


__all__ = ["LocalBackend"]
