"""A small agent of a third party, registered as harness ``puppet``: its model says what it does.

It runs a real program in the sandbox it is given, so home, folders and files are those of that sandbox.
"""

from __future__ import annotations

from typing import Any

from sphynx.contracts import TurnResult
from sphynx.journal.events import Command, Message, Started, Usage
from sphynx.registry import register_harness

SCRIPTS = {
    "yes": "echo 'yes, go ahead'",
    "done": "echo '<<DONE>>'",
    "good": """echo '{"choice":"good","reason":"all is well"}'""",
    "looks": "cat workspace/out.md >/dev/null && rm workspace/out.md && "
    """printf '{"choice":"good","reason":"%s"}' "$(ls -a | tr '\\n' ' ')\"""",
    "slow": "sleep 30",
}


class Puppet:
    """``<script>``, ``<script>+tool`` to use a tool too, ``fails``, ``new`` for no sessions."""

    name = "puppet"
    version = "1"
    seen: list[dict[str, Any]] = []

    @classmethod
    def needs(cls, variant: Any, env: Any) -> list[dict[str, Any]]:
        return [
            {"name": "PUPPET_KEY", "found": bool(env.get("PUPPET_KEY")), "why": "harness puppet needs it"}
        ]

    @classmethod
    def keys(cls, variant: Any, env: Any) -> dict[str, str]:
        return {"PUPPET_KEY": env["PUPPET_KEY"]} if env.get("PUPPET_KEY") else {}

    async def prepare(self, box: Any, setup: Any) -> None:
        self.setup = setup
        await box.write(f"{box.home}/key", setup.keys.get("PUPPET_KEY", "").encode())

    async def turn(
        self, box: Any, prompt: str, *, session_id: str | None, timeout_ms: int, emit: Any
    ) -> TurnResult:
        script, _, extra = self.setup.model.partition("+")
        Puppet.seen.append(
            {
                "prompt": prompt,
                "session": session_id,
                "workspace": box.workspace,
                "home": box.home,
                "id": box.id,
            }
        )
        if script == "fails":
            return TurnResult("failed", reason="the puppet's strings are cut")
        emit(Started("p-1", self.setup.model))
        if extra == "tool":
            emit(Command("ls", 0, ""))
        done = await box.exec(["/bin/sh", "-c", SCRIPTS[script]], timeout_ms=timeout_ms)
        emit(Message(role="assistant", text=done.stdout.decode()))
        if done.timed_out:
            return TurnResult("timed_out")
        return TurnResult("finished", session_id=None if extra == "new" else "p-1", usage=Usage(100, 10))


register_harness("puppet", Puppet)
