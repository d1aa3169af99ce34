"""FX: ``fx ask --json``. Written from its repository."""

from __future__ import annotations

from typing import ClassVar

from sphynx.contracts import HarnessSetup, Sandbox
from sphynx.harnesses.cli_agent import CliAgent, Launch, filled, prepend, read_object, write_object
from sphynx.harnesses.installing import Recipe, TarballRecipe
from sphynx.harnesses.mcp_config import complete, listed
from sphynx.harnesses.transcripts.fx import FxReader
from sphynx.harnesses.transcripts.reading import Reader

BASE_URL = "SPHYNX_FX_BASE_URL"
_KEY = "AI_GATEWAY_API_KEY"


class FxHarness(CliAgent):
    """Runs FX. Without a ChatGPT login it takes its key from the environment, where its commands see it."""

    name: ClassVar[str] = "fx"
    version = "0.0.12"
    recipe: ClassVar[Recipe] = TarballRecipe(
        "fx",
        "https://releases.fx.sh/v$version/fx-$os-$arch.tar.gz",
        "fx",
        archs={"amd64": "x86_64", "arm64": "aarch64"},
        systems={"darwin": "macos"},
        latest="curl -fsSL https://releases.fx.sh/latest.txt | tr -d 'v[:space:]'",
    )
    key_names: ClassVar[tuple[str, ...]] = (_KEY,)
    setting_names: ClassVar[tuple[str, ...]] = (BASE_URL,)

    async def configure(self, box: Sandbox, setup: HarnessSetup) -> None:
        login = setup.keys.get(self.login_name())
        if login:
            await box.write(f"{box.home}/.fx/chatgpt-auth.json", login.encode(), mode=0o600)

    async def begin(self, box: Sandbox, setup: HarnessSetup) -> None:
        # There is no flag for the model.
        settings = f"{box.home}/.fx/settings.json"
        await write_object(box, settings, filled(await read_object(box, settings), {"model": setup.model}))
        await complete(box, f"{box.home}/.fx/mcp.json", self.name, listed(setup, required=True), key="mcp")
        await prepend(box, f"{box.home}/.fx/AGENTS.md", setup.system_prompt)

    def launch(self, box: Sandbox, setup: HarnessSetup, session_id: str | None) -> Launch:
        arguments = ["ask", "--json", "--yolo", "--no-color"]
        if session_id:
            arguments += ["--resume-id", session_id]
        env = {"FX_DISABLE_KEYCHAIN": "1", "FX_SKIP_ONBOARDING": "1", "FX_MODEL": setup.model}
        if key := setup.keys.get(_KEY):
            env[_KEY] = key
        if base_url := setup.keys.get(BASE_URL):
            env["FX_GATEWAY_BASE_URL"] = base_url
        return Launch(arguments, env)

    def reader(self, setup: HarnessSetup, session_id: str | None) -> Reader:
        return FxReader()
