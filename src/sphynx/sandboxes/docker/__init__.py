"""The ``docker`` sandbox: a container per trial, on Docker or Podman.

    DockerBackend ── container: init ── exec of ``inside.runner`` per command, function or file

Everything is asked of the engine's HTTP interface, so its daemon may be anywhere; only the relay to allowed
hosts needs it on this machine. What ``inside`` holds runs in the container, with the standard library alone:
this package loads nothing until a name is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphynx.sandboxes.docker.backend import DockerBackend as DockerBackend
else:

    def __getattr__(name: str) -> object:
        if name == "DockerBackend":
            from sphynx.sandboxes.docker.backend import DockerBackend

            return DockerBackend
        raise AttributeError(name)


__all__ = ["DockerBackend"]
