"""What a person is told, how their words are read, which model plays them."""

from __future__ import annotations

from typing import Any

import pytest

from case_data import case_id, load
from sphynx.people.briefing import agent_briefing, reply_of, system_prompt
from sphynx.people.routing import configured, route
from sphynx.providers.table import PROVIDERS


def case(name: str) -> dict[str, Any]:
    return next(found for found in load("person-reply") if found["id"] == name)


def test_when_a_person_is_done() -> None:
    """Nothing said, or the marker anywhere, ends the talk; anything else is said without its blanks."""
    found = case("person-reply-01")
    assert [reply_of(text) for text in found["input"]["texts"]] == found["expected"]["replies"]


@pytest.mark.parametrize("found", load("person-model"), ids=case_id)
def test_a_model_names_its_provider(found: dict[str, Any]) -> None:
    """``provider/model`` when the provider is known, else a model of OpenAI with the whole name."""
    routes = [route(value) for value in found["input"]["values"]]
    assert [[made.provider.id, made.model] for made in routes] == found["expected"]["routes"]


def test_the_default_model_and_the_providers() -> None:
    """A blank variable is none. Eight providers, each with a key and an address that can be changed."""
    assert configured({}) == configured({"SPHYNX_USER_MODEL": " "}) == "gpt-5.4-mini"
    assert configured({"SPHYNX_USER_MODEL": "groq/m"}) == "groq/m"
    assert list(PROVIDERS) == [
        "openai", "anthropic", "google", "xai", "moonshotai", "deepseek", "groq", "openrouter",
    ]  # fmt: skip
    google = PROVIDERS["google"]
    assert google.key({"GEMINI_API_KEY": "k"}) == "k"
    assert google.base_url({"SPHYNX_GOOGLE_BASE_URL": "http://127.0.0.1:1/v1/"}) == "http://127.0.0.1:1/v1"
    assert google.base_url({}).startswith("https://generativelanguage.googleapis.com/")


def test_a_person_keeps_the_brief_to_themselves() -> None:
    """Goal, brief and rules are there; an agent that plays them is also told to speak only."""
    told = system_prompt("Get Pro live.", "Pro is $20.")
    assert "Get Pro live." in told and "Pro is $20." in told and "<<DONE>>" in told
    assert "has to ask for" in told
    whole = agent_briefing("Get Pro live.", "Pro is $20.", ["yes", "now"], "Shall I push?")
    assert whole.startswith(told) and whole.endswith("The agent now says:\nShall I push?")
    assert "no tools" in whole and "- yes\n- now" in whole
