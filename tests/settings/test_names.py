"""Variables by name: what may be set, what is secret, what is shown."""

from __future__ import annotations

import pytest

from case_data import case_id, load
from sphynx.settings import names


@pytest.mark.parametrize("case", load("variable-name"), ids=case_id)
def test_variable_names(case: dict) -> None:
    """The worked cases of the contract."""
    assert (names.name_problem(case["input"]["name"]) is None) == case["expected"]["accepted"]


@pytest.mark.parametrize("case", load("profile-variable"), ids=case_id)
def test_variables_a_profile_may_name(case: dict) -> None:
    """The worked cases of the contract."""
    assert (names.profile_problem(case["input"]["name"]) is None) == case["expected"]["accepted"]


@pytest.mark.parametrize("case", load("secret-default"), ids=case_id)
def test_secret_by_default(case: dict) -> None:
    """The worked cases of the contract."""
    assert names.secret_by_default(**case["input"]) == case["expected"]["secret"]


@pytest.mark.parametrize("case", load("preview"), ids=case_id)
def test_previews(case: dict) -> None:
    """The worked cases of the contract."""
    shown = names.preview(case["input"]["value"], secret=case["input"]["secret"])
    assert shown == case["expected"]["preview"]


@pytest.mark.parametrize("case", load("known-variable"), ids=case_id)
def test_known_names(case: dict) -> None:
    """The worked cases of the contract."""
    name, expected = case["input"]["name"], case["expected"]
    known = names.KNOWN.get(name)
    assert names.used_by(name) == expected["usedBy"]
    assert (known is not None) == expected.get("known", True)
    if known is not None:
        assert [known.secret, known.optional] == [expected["secret"], expected["optional"]]
        assert list(known.uses) == expected["uses"]


def test_a_preview_of_a_long_secret_shows_four_characters() -> None:
    """From twenty characters on; never more."""
    assert names.preview("x" * 16 + "7f2a", secret=True) == "••••7f2a"


@pytest.mark.parametrize("name", ["E2B_API_KEY", "XAI_API_KEY", "TYPESAFE_API_KEY", "SPHYNX_X", "lower"])
def test_refusals_say_why(name: str) -> None:
    """A judge's or sandbox's key, a reserved name and a malformed one each have their reason."""
    assert names.profile_problem(name)


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("https://quay.test", False),
        ("quay.test:8080/", False),
        ("HTTP://QUAY.TEST", False),
        ("https://user@quay.test", True),
        ("https://quay.test?x=1", True),
        ("http://localhost:1", True),
        ("plain words", True),
    ],
)
def test_only_bare_addresses_are_no_secrets(value: str, secret: bool) -> None:
    """No path, no query, no user, a port of two to five digits."""
    assert names.secret_by_default("QUAY_SITE", value) is secret


def test_a_known_name_has_its_own_answer() -> None:
    """Whatever its value looks like."""
    assert names.secret_by_default("QWEN_BASE_URL", "not an address") is False
    assert names.secret_by_default("OPENAI_API_KEY", "https://quay.test") is True


def test_values_have_limits() -> None:
    """1 to 32,768 characters."""
    assert names.value_problem("")
    assert names.value_problem("x" * 32_769)
    assert names.value_problem("x" * 32_768) is None


def test_secrets_of_an_environment() -> None:
    """What redaction should know of a set of variables."""
    env = {"API_KEY": "abc", "SITE": "https://quay.test", "MODE": "calm"}
    assert list(names.secret_values(env)) == ["abc", "calm"]
