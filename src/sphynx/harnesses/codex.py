"""Codex CLI: ``codex exec --json``."""

from __future__ import annotations

import json
import tomllib
from typing import Any, ClassVar

from sphynx.contracts import ExecResult, HarnessSetup, Sandbox
from sphynx.errors import StageError
from sphynx.harnesses.catalogue import Catalogue, slugs
from sphynx.harnesses.cli_agent import CliAgent, Launch, read_text, write_object
from sphynx.harnesses.installing import NpmRecipe, Recipe
from sphynx.harnesses.mcp_config import joined
from sphynx.harnesses.transcripts.codex import CodexReader
from sphynx.harnesses.transcripts.reading import Reader
from sphynx.journal.events import Event, Usage

BASE_URL = "SPHYNX_CODEX_BASE_URL"
_SWITCHES = (
    "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
    "--disable", "plugins", "--disable", "unbounded_connection_retries",
    "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false", "-c", 'web_search="disabled"',
)  # fmt: skip
_SESSION_TOTALS = (
    'file=$(find "$1" -name "*$2.jsonl" 2>/dev/null | tail -n 1); grep \'"token_count"\' "$file" | tail -n 1'
)


class CodexHarness(CliAgent):
    """Runs Codex. Its key lies in ``auth.json``, so neither its environment nor its commands' carries it."""

    name: ClassVar[str] = "codex"
    version = "0.171.0"
    recipe: ClassVar[Recipe] = NpmRecipe("codex", "@openai/codex", "codex", node="16")
    key_names: ClassVar[tuple[str, ...]] = ("OPENAI_API_KEY",)
    setting_names: ClassVar[tuple[str, ...]] = (BASE_URL,)
    login_files: ClassVar[tuple[str, ...]] = ("$CODEX_HOME/auth.json", "~/.codex/auth.json")
    catalogue: ClassVar[Catalogue | None] = Catalogue(("debug", "models"), slugs)
    sign_in: ClassVar[str] = " (or your ChatGPT login, with --use-login)"

    def __init__(self) -> None:
        super().__init__()
        self._total: Usage | None = None

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        login = setup.keys.get(self.login_name())
        if login:
            await box.write(f"{_home(box)}/auth.json", login.encode(), mode=0o600)
            return
        key = setup.keys.get("OPENAI_API_KEY")
        auth: dict[str, Any] = {"auth_mode": "apikey", "OPENAI_API_KEY": key} if key else {}
        await write_object(box, f"{_home(box)}/auth.json", auth)

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        """See that the profile's own configuration leaves the mocks their names."""
        text = await read_text(box, f"{_home(box)}/config.toml") if setup.mcp_servers else ""
        try:
            there = tomllib.loads(text).get("mcp_servers", {})
        except tomllib.TOMLDecodeError as error:
            text = f"{_home(box)}/config.toml is not TOML: {error}"
            raise StageError(text, stage="harness", cause="setup") from error
        joined(self.name, there, setup.mcp_servers)

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["exec", *(["resume"] if session_id else []), *_SWITCHES]
        if setup.model:
            arguments += ["--model", setup.model]
        if setup.system_prompt is not None:
            arguments += ["-c", f"developer_instructions={json.dumps(setup.system_prompt)}"]
        if base_url := setup.keys.get(BASE_URL):
            # The built-in provider tries WebSockets first at another address; one of our own does not.
            settings = (
                f'name="sphynx", base_url={json.dumps(base_url)}, wire_api="responses", '
                "requires_openai_auth=true, request_max_retries=2, stream_max_retries=2"
            )
            arguments += ["-c", 'model_provider="sphynx"', "-c", f"model_providers.sphynx={{{settings}}}"]
        for name, argv in setup.mcp_servers.items():
            settings = f"command={json.dumps(argv[0])}, args={json.dumps(list(argv[1:]))}, required=true"
            approved = 'default_tools_approval_mode="approve"'
            arguments += ["-c", f"mcp_servers.{name}={{{settings}, {approved}}}"]
        arguments += [session_id] if session_id else []
        return Launch([*arguments, "-"], {"CODEX_HOME": _home(box)})

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return CodexReader(model=setup.model, before=self._total)

    async def complete(self, box: Sandbox, reader: Reader, ended: ExecResult) -> list[Event]:
        assert isinstance(reader, CodexReader)
        if reader.total is None and reader.notes.session_id:
            # A turn that broke off printed no counters; the session file has those of the last step.
            argv = ["/bin/sh", "-c", _SESSION_TOTALS, "sh", f"{_home(box)}/sessions", reader.notes.session_id]
            found = await box.exec(argv, timeout_ms=10_000)
            reader.count_session(found.stdout)
        self._total = reader.total or self._total
        return []


def _home(box: Sandbox) -> str:
    return f"{box.home}/.codex"
