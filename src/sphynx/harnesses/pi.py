"""Pi: ``pi --mode json``."""

from __future__ import annotations

from typing import Any, ClassVar

from sphynx.contracts import HarnessSetup, Sandbox
from sphynx.harnesses.catalogue import Catalogue, table
from sphynx.harnesses.cli_agent import CliAgent, Launch, filled, prepend, read_object, write_object
from sphynx.harnesses.installing import NpmRecipe, Recipe
from sphynx.harnesses.mcp_config import complete, standard
from sphynx.harnesses.model_providers import ANY_KEY, PROVIDER_KEYS, key_name, provider_of
from sphynx.harnesses.transcripts.pi import PiReader
from sphynx.harnesses.transcripts.reading import Reader

BASE_URL = "SPHYNX_PI_BASE_URL"
_SETTINGS: dict[str, Any] = {
    "retry": {"maxRetries": 2, "baseDelayMs": 1000, "provider": {"maxRetries": 0}},
    "enableInstallTelemetry": False,
}


class PiHarness(CliAgent):
    """Runs Pi with models named ``provider/model``. Its key lies in its own ``auth.json``."""

    name: ClassVar[str] = "pi"
    version = "1.6.0"
    recipe: ClassVar[Recipe] = NpmRecipe("pi", "@earendil-works/pi-coding-agent", "pi", node="22.19")
    setting_names: ClassVar[tuple[str, ...]] = (BASE_URL,)
    login_files: ClassVar[tuple[str, ...]] = ("$PI_CODING_AGENT_DIR/auth.json", "~/.pi/agent/auth.json")
    catalogue: ClassVar[Catalogue | None] = Catalogue(
        ("--list-models",), table, {**ANY_KEY, "PI_OFFLINE": "1"}
    )
    sign_in: ClassVar[str] = " (or your Pi login, with --use-login)"

    @classmethod
    def keys_for(cls, variant: Any) -> tuple[str, ...]:
        return (key_name(variant.model),)

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        login, key = setup.keys.get(self.login_name()), setup.keys.get(key_name(setup.model))
        auth_file = f"{_agent(box)}/auth.json"
        if login:
            await box.write(auth_file, login.encode(), mode=0o600)
        elif key:
            await write_object(box, auth_file, {provider_of(setup.model)[0]: {"type": "api_key", "key": key}})

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        """Complete the files the profile may have brought; what it says itself stands."""
        settings = f"{_agent(box)}/settings.json"
        await write_object(box, settings, filled(_SETTINGS, await read_object(box, settings)))
        if base_url := setup.keys.get(BASE_URL):
            models = f"{_agent(box)}/models.json"
            ours = {"providers": _provider(setup.model, base_url)}
            await write_object(box, models, filled(await read_object(box, models), ours))
        # Without direct exposure a tool is only reachable through a tool that runs JavaScript.
        await complete(box, f"{_agent(box)}/mcp.json", self.name, standard(setup, exposure="direct"))
        await prepend(box, f"{_agent(box)}/AGENTS.md", setup.system_prompt)

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["--mode", "json", "--print", "--approve", "--model", setup.model]
        if session_id:
            arguments += ["--session", session_id]
        env = {
            "PI_CODING_AGENT_DIR": _agent(box),
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
        }
        return Launch(arguments, env)

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return PiReader(model=setup.model)


def _provider(model: str, base_url: str) -> dict[str, Any]:
    provider, name = provider_of(model)
    if provider in PROVIDER_KEYS:
        return {provider: {"baseUrl": base_url}}
    return {provider: {"baseUrl": base_url, "api": "openai-completions", "models": [{"id": name}]}}


def _agent(box: Sandbox) -> str:
    return f"{box.home}/.pi/agent"
