"""Keys and variables a server lends to a local run: taken at its start, renewed while it lasts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.running import Running, running
from sphynx import Sphynx
from sphynx.cli.recording import Recording, request_of
from sphynx.engine import Stop, plan_local
from sphynx.engine.options import LocalOptions

JUDGED = """
from sphynx import case, human, judge, suite, variant

PERSON = human(goal="Get it live.", prompt="Say yes.")
leased = suite(
    id="leased", prompt="Go.",
    cases=[case(id="one", user=PERSON, validate=judge(
        name="tone", provider="openai", model="m", prompt="Is it polite?", choices={"yes": 1, "no": 0},
    ))],
    variants=[variant(harness="command", model="m", profile={"name": "mine", "dir": "./mine"})],
)
"""
SET = {
    "OPENAI_API_KEY": "sk-of-judges-0123456789",
    "GROQ_API_KEY": "gk-of-people-0123456789",
    "MINE": "first",
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path / "data") as told:
        yield told


def test_keys_of_judges_and_people_and_variables_are_lent_and_renewed_while_the_run_lasts(
    server: Running, tmp_path: Path
) -> None:
    """What the shell sets wins, also later; a variable that is changed at the server is lent anew."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "leased_eval.py").write_text(JUDGED)
    (tmp_path / "mine/profile.json").write_text('{"run": "true", "variables": ["MINE", "OWN"]}')
    shell = {"OWN": "of the shell", "SPHYNX_USER_MODEL": "groq/fast", "SPHYNX_LOCAL_ROOT": str(tmp_path)}
    plan = plan_local(["leased_eval.py"], LocalOptions(cwd=tmp_path, env=shell))
    with Sphynx(server.key, server.url) as client:
        client.environment.set([{"name": name, "value": value} for name, value in SET.items()])
        recording = Recording(client, Stop(), lambda text: None)
        try:
            recording.start(plan, [request_of(planned) for planned in plan.suites])
            plan.options = recording.leased(plan)
            assert plan.options.env == {**shell, **SET}
            changed = [{"name": "MINE", "value": "second"}, {"name": "OWN", "value": "of the server"}]
            client.environment.set(changed)
            recording.renew()
            assert plan.options.env == {**shell, **SET, "MINE": "second"}
            client.environment.remove("GROQ_API_KEY")
            recording.renew()
            assert plan.options.env["GROQ_API_KEY"] == SET["GROQ_API_KEY"]
        finally:
            recording.close()
