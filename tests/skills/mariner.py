"""A small agent, registered as harness ``mariner``, that behaves as its model's name says when it finds the
example skill in its workspace, and a judge that answers as its model's name says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sphynx.contracts import TurnResult
from sphynx.journal.events import Command, Message, Started, Usage
from sphynx.registry import register_harness

WITH = "Highest first: 3 May 5.2 m, 4 May 5.1 m, 2 May 5.0 m. The weather may change this."
WITHOUT = "The highest tides are on 3 May (5.2), 4 May (5.1) and 2 May (5.0)."


class Mariner:
    """``sees`` uses the skill when it is there, ``late`` after other work, ``blind`` never."""

    name = "mariner"
    version = "1"
    seen: list[dict[str, Any]] = []

    async def prepare(self, box: Any, setup: Any) -> None:
        self.setup = setup

    async def turn(
        self, box: Any, prompt: str, *, session_id: str | None, timeout_ms: int, emit: Any
    ) -> TurnResult:
        model = self.setup.model
        emit(Started("s", model))
        if "Schema of the answer:" in prompt:
            Mariner.seen.append({"judge": prompt})
            emit(Message("assistant", verdict(model, prompt)))
            return TurnResult("finished", usage=Usage(50, 10))
        if model.startswith("searches-"):
            return await self._search(box, model.removeprefix("searches-"), emit)
        root = Path(box.workspace)
        found = sorted(
            path.relative_to(root).as_posix() for path in root.rglob("*") if ".git/" not in str(path)
        )
        home = sorted(path.relative_to(box.home).as_posix() for path in Path(box.home).rglob("*"))
        Mariner.seen.append(
            {"prompt": prompt, "files": found, "home": home, "system": self.setup.system_prompt}
        )
        skill = next((path for path in found if path.endswith("tide-table/SKILL.md")), None)
        if skill and model != "blind":
            if model == "late":
                emit(Command("ls", 0, "harbor.csv"))
            script = skill.replace("SKILL.md", "scripts/highest.sh")
            ran = await box.exec(["/bin/sh", "-c", f"./{script} harbor.csv"], cwd=box.workspace)
            emit(Command(f"cat {skill}", 0, (root / skill).read_text()))
            emit(Command(f"./{script} harbor.csv", ran.exit_code, ran.stdout.decode()))
        if "lowest.txt" in prompt:
            (root / "lowest.txt").write_text("5 May\n")
        emit(Message("assistant", WITH if skill and model != "blind" else WITHOUT))
        return TurnResult("finished", usage=Usage(300 if skill else 100, 20))

    async def _search(self, box: Any, mark: str, emit: Any) -> TurnResult:
        """Look for a text in everything the agent can read."""
        script = (
            'grep -rlsF -e "$1" --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=dev /'
        )
        done = await box.exec(["/bin/sh", "-c", script, "sh", mark], cwd=box.workspace, timeout_ms=60_000)
        Mariner.seen.append({"found": done.stdout.decode().split()})
        emit(Message("assistant", "looked"))
        return TurnResult("finished")


def verdict(model: str, prompt: str) -> str:
    """The judge's answer: by rule, or broken in the way the model's name says."""
    count = len(re.findall(r"^\d+\. ", prompt.split("Rubric:")[1].split("\n\nDecide")[0], re.M))
    items = [{"number": n, "passed": True, "evidence": "seen"} for n in range(1, count + 1)]
    if model == "omits":
        items = items[:-1]
    elif model == "repeats":
        items.append(items[0])
    elif model == "invents":
        items.append({"number": 99, "passed": True, "evidence": "x"})
    elif model == "chats":
        return "All criteria are met, congratulations!"
    return json.dumps({"criteria": items, "instructed": model == "told"})


def install() -> None:
    register_harness("mariner", Mariner)
    Mariner.seen.clear()
