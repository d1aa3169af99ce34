"""OpenCode: ``opencode run --format json``."""

from __future__ import annotations

import json
import re
from typing import Any, ClassVar

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox
from sphynx.errors import StageError
from sphynx.harnesses.catalogue import Catalogue, paths
from sphynx.harnesses.cli_agent import MOST_FAILURES, CliAgent, Launch, filled, now_ms, write_object
from sphynx.harnesses.installing import NpmRecipe, Recipe
from sphynx.harnesses.mcp_config import joined, listed
from sphynx.harnesses.model_providers import ANY_KEY, PROVIDER_KEYS, key_name, provider_of
from sphynx.harnesses.transcripts.opencode import OpenCodeReader
from sphynx.harnesses.transcripts.reading import Reader
from sphynx.journal.events import Event

BASE_URL = "SPHYNX_OPENCODE_BASE_URL"
_CONFIG = "OPENCODE_CONFIG_CONTENT"
_EXPORT_MS = 30_000
_FAILED = re.compile(r'message="stream error" .*small=false .*error\.error="((?:[^"\\]|\\.)*)"')
"""A line of its log: a request of the agent, not one for a title, failed."""


class OpenCodeHarness(CliAgent):
    """Runs OpenCode with models named ``provider/model``. Its key lies in its own ``auth.json``."""

    name: ClassVar[str] = "opencode"
    version = "1.18.33"
    recipe: ClassVar[Recipe] = NpmRecipe("opencode", "opencode-ai", "opencode")
    setting_names: ClassVar[tuple[str, ...]] = (BASE_URL,)
    login_files: ClassVar[tuple[str, ...]] = (
        "$XDG_DATA_HOME/opencode/auth.json",
        "~/.local/share/opencode/auth.json",
    )
    catalogue: ClassVar[Catalogue | None] = Catalogue(
        ("models",), paths, {**ANY_KEY, "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    )
    watched: ClassVar[bool] = True
    sign_in: ClassVar[str] = " (or your OpenCode login, with --use-login)"

    @classmethod
    def keys_for(cls, variant: Any) -> tuple[str, ...]:
        return (key_name(variant.model),)

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        login, key = setup.keys.get(self.login_name()), setup.keys.get(key_name(setup.model))
        auth_file = f"{_data(box)}/opencode/auth.json"
        if login:
            await box.write(auth_file, login.encode(), mode=0o600)
        elif key:
            await write_object(box, auth_file, {provider_of(setup.model)[0]: {"type": "api", "key": key}})
        if setup.system_prompt is not None:
            await box.write(_prompt_file(box), setup.system_prompt.encode())

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        # A title of ours saves the request that would ask the model for one.
        arguments = ["run", "--format", "json", "--auto", "--title", "trial", "--model", setup.model]
        # Its log tells of failed requests, which its events do not.
        arguments += ["--print-logs", "--log-level", "ERROR"]
        if not any("/opencode" in path or "/.opencode/" in path for path in setup.profile_files):
            arguments.append("--pure")
        if session_id:
            arguments += ["--session", session_id]
        switches = ("AUTOUPDATE", "CLAUDE_CODE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD", "MODELS_FETCH")
        env = {f"OPENCODE_DISABLE_{name}": "1" for name in switches}
        env |= {
            "XDG_DATA_HOME": _data(box),
            "XDG_CONFIG_HOME": f"{box.home}/.config",
            "XDG_CACHE_HOME": f"{box.home}/.cache",
            "XDG_STATE_HOME": f"{box.home}/.local/state",
            _CONFIG: json.dumps(self._config(box, setup)),
        }
        return Launch(arguments, env)

    def _config(self, box: Sandbox, setup: HarnessSetup) -> dict[str, Any]:
        """The profile's own configuration with what we add."""
        given = _object(setup.env.get(_CONFIG, ""))
        ours: dict[str, Any] = {"autoupdate": False, "share": "disabled", "small_model": setup.model}
        if base_url := setup.keys.get(BASE_URL):
            ours["provider"] = _provider(setup.model, base_url)
        if setup.mcp_servers:
            ours["mcp"] = joined(self.name, given.get("mcp") or {}, listed(setup))
        if setup.system_prompt is not None:
            ours["instructions"] = [*(given.get("instructions") or []), _prompt_file(box)]
        return filled(given, ours)

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return OpenCodeReader(model=setup.model)

    async def gave_up(self, box: Sandbox, said: str) -> str | None:
        failed = _FAILED.findall(said)
        return words_of(failed[-1]) if len(failed) >= MOST_FAILURES else None

    async def complete(self, box: Sandbox, reader: Reader, ended: ExecResult) -> list[Event]:
        assert isinstance(reader, OpenCodeReader)
        session = reader.notes.session_id
        if not ended.timed_out or session is None or self.setup is None:
            return []
        env = self.launch(box, self.setup, session).env
        argv = [self.program, "export", session]
        found = await box.exec(argv, env=env, timeout_ms=_EXPORT_MS, keep=64_000_000)
        return reader.exported(found.stdout, now_ms())


def words_of(error: str) -> str:
    """The message of a logged error, without its class: ``AI_APICallError: slow down``."""
    text = re.sub(r"\\(.)", r"\1", error.replace("\\n", " "))
    return re.sub(r"^(?:\w*Error: )+", "", text).strip()


def _provider(model: str, base_url: str) -> dict[str, Any]:
    provider, name = provider_of(model)
    options = {"options": {"baseURL": base_url}}
    if provider in PROVIDER_KEYS:
        return {provider: options}
    return {provider: {"npm": "@ai-sdk/openai-compatible", "name": provider, "models": {name: {}}, **options}}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError as error:
        message = f"the profile's {_CONFIG} is not JSON: {error}"
        raise StageError(message, stage="harness", cause="setup") from error
    return value if isinstance(value, dict) else {}


def _data(box: Sandbox) -> str:
    return f"{box.home}/.local/share"


def _prompt_file(box: Sandbox) -> str:
    return f"{box.home}/.sphynx/system.md"
