"""Which values count as secrets of a trial."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sphynx.compiler.compiled import CompiledVariant
from sphynx.compiler.profiles import Profile
from sphynx.engine.credentials import is_plain_url, secrets, strings
from sphynx.suite import variant


def found(
    harness: str, env: dict[str, str], forwarded: dict[str, str] | None = None, **profile: Any
) -> set[str]:
    made = variant(harness=harness, model="m")
    layer = Profile(name="p", files={}, **profile) if profile else None
    return set(secrets(CompiledVariant(made, made.label, layer), env, forwarded or {}))


def test_named_variables_are_secrets_and_others_of_the_shell_are_not() -> None:
    env = {"APP_TOKEN": "value-of-it", "PATH": "/bin", "OTHER": "x"}
    assert found("command", env, variables=("APP_TOKEN", "MISSING")) == {"value-of-it"}


def test_a_forwarded_address_is_a_secret_only_when_it_looks_like_a_token() -> None:
    addresses = {"API_URL": "http://localhost:3000", "AUTH_HOST": "abcdefghij0123456789"}
    assert found("command", {}, addresses) == {"abcdefghij0123456789"}


def test_a_harness_key_is_a_secret_and_its_plain_base_url_is_not() -> None:
    env = {"ANTHROPIC_API_KEY": "key-of-claude", "SPHYNX_CLAUDE_BASE_URL": "http://127.0.0.1:9/x"}
    assert found("claude", env) == {"key-of-claude"}


def test_every_token_inside_a_login_file_is_a_secret() -> None:
    login = json.dumps({"tokens": {"access": "access-token-1", "refresh": ["refresh-token-1"]}})
    assert found("codex", {"SPHYNX_CODEX_AUTH_JSON": login}) >= {login, "access-token-1", "refresh-token-1"}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("http://localhost:4173", True),
        ("https://example.com/path", True),
        ("https://user:pass@example.com", False),
        ("some-words-without-scheme", False),
    ],
)
def test_plain_addresses_stay_readable(text: str, plain: bool) -> None:
    assert is_plain_url(text) is plain


def test_every_text_of_a_value_is_found() -> None:
    assert list(strings({"a": ["x", {"b": "y"}], "c": 1, "d": None})) == ["x", "y"]
