"""The eight providers that serve chat completions, their keys and addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. ``key_name`` is the variable that holds its key."""

    id: str
    label: str
    key_name: str
    default_url: str

    @property
    def url_name(self) -> str:
        """The variable that puts another address in place of the provider's own."""
        return f"SPHYNX_{self.id.upper()}_BASE_URL"

    def base_url(self, env: Mapping[str, str]) -> str:
        """Where the provider is asked, without a slash at the end."""
        return (env.get(self.url_name, "").strip() or self.default_url).rstrip("/")

    def key(self, env: Mapping[str, str]) -> str:
        """The provider's key, empty when it is not set."""
        return env.get(self.key_name, "").strip()


_TABLE = (
    Provider("openai", "OpenAI", "OPENAI_API_KEY", "https://api.openai.com/v1"),
    Provider("anthropic", "Anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com/v1"),
    Provider("google", "Google", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/openai"),
    Provider("xai", "xAI", "XAI_API_KEY", "https://api.x.ai/v1"),
    Provider("moonshotai", "Moonshot", "MOONSHOT_API_KEY", "https://api.moonshot.ai/v1"),
    Provider("deepseek", "DeepSeek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1"),
    Provider("groq", "Groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    Provider("openrouter", "OpenRouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
)
PROVIDERS: Mapping[str, Provider] = {provider.id: provider for provider in _TABLE}
"""By id, in the order they are listed to people."""
