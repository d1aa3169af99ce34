"""The login profile a check's ``exec`` reads: as the author's set-up left it, not as the agent did."""

from __future__ import annotations

from sphynx.contracts import Sandbox

LIMIT = 65_536


async def kept(box: Sandbox) -> str:
    """The text of ``~/.profile`` now; empty when there is none that could be handed to a shell."""
    try:
        data = await box.read(f"{box.home}/.profile", limit=LIMIT + 1)
    except OSError:
        return ""
    return "" if len(data) > LIMIT or b"\0" in data else data.decode("utf-8", "surrogateescape")
