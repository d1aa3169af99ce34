"""The model providers an agent names in front of a model: ``anthropic/claude-sonnet-4-5``."""

from __future__ import annotations

PROVIDER_KEYS: dict[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "google": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "moonshotai": "MOONSHOT_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Providers agents know by themselves, and the variable their key comes from."""

ANY_KEY = dict.fromkeys(PROVIDER_KEYS.values(), "none")
"""Keys of no worth: agents list the models of those providers only that they have a key for."""

OTHER_KEY = "OPENAI_API_KEY"
"""The key for any other provider, which must speak OpenAI chat completions."""


def provider_of(model: str) -> tuple[str, str]:
    """Provider and model id of ``provider/model``; the provider is empty when none is named."""
    provider, slash, name = model.partition("/")
    return (provider, name) if slash else ("", model)


def key_name(model: str) -> str:
    """The variable that holds the key for a model."""
    return PROVIDER_KEYS.get(provider_of(model)[0], OTHER_KEY)
