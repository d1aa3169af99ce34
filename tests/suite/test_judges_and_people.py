"""Every limit of ``judge()`` and ``human()`` is told with place, value and nearest name."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from sphynx import human, judge
from sphynx.suite import Suite, case, suite
from sphynx.suite.cases import Case

JUDGE: dict[str, Any] = {
    "name": "tone",
    "provider": "openai",
    "model": "gpt-5.4",
    "prompt": "Is it polite?",
    "choices": {"good": 1, "bad": 0},
}
AGENT = {**JUDGE, "provider": None, "harness": "codex"}


def a_suite(**fields: Any) -> Suite:
    given = {"validate": lambda ctx: True, **fields}
    return suite(
        id="s", prompt="p", cases=[case(id="one", **given)], variants=[{"harness": "codex", "model": "m"}]
    )


def texts(made: Suite) -> list[str]:
    return [found.message for found in made.problems()]


def only(**fields: Any) -> Case:
    return a_suite(**fields).cases[0]


def test_defaults_and_everything_given() -> None:
    """Builder and dict are the same; an empty field means what the docs say."""
    for made in (judge(**JUDGE), JUDGE):
        (found,) = only(validate=made).judges
        assert (found.index, found.name, found.provider, found.harness) == (0, "tone", "openai", None)
        assert (found.threshold, found.timeout_ms, found.votes, found.workspace) == (1.0, 120_000, 1, False)
        assert (found.expected, found.files, found.choices) == (None, [], {"good": 1, "bad": 0})
    full = judge(
        **{**AGENT, "threshold": 0, "timeout_ms": 1_000, "votes": 9, "workspace": True, "expected": ""}
    )
    made = a_suite(validate=[lambda ctx: True, full])
    (found,) = made.cases[0].judges
    assert (found.threshold, found.votes, found.workspace, found.expected) == (0, 9, True, "")
    assert texts(made) == [] and [check.index for check in made.cases[0].checks] == [0]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "validate: name is missing"),
    ({"name": "n" * 101}, "validate: name must be at most 100 characters, this one has 101"),
    ({"model": " "}, "validate: model must not be blank"),
    ({"prompt": "p" * 32_001}, "validate: prompt must be at most 32,000 characters, this one has 32,001"),
    ({"expected": "e" * 32_001}, "validate: expected must be at most 32,000 characters, this one has 32,001"),
    ({"provider": None}, "validate: harness is missing"),
    ({"harness": "codex"}, "validate: provider cannot stand beside harness"),
    ({"provider": "anthropic"}, 'validate: provider must be "openai", not "anthropic"'),
    ({"provider": None, "harness": "command"}, 'validate: harness cannot be "command", which has no model to ask'),
    ({"provider": None, "harness": "codexx"}, 'validate: harness "codexx" is not known'),
    ({"choices": {}}, "validate: choices must hold 1 to 20 choices, there are 0"),
    ({"choices": {str(n): 0 for n in range(21)}}, "validate: choices must hold 1 to 20 choices, there are 21"),
    ({"choices": {"good": 2}}, 'validate: choices["good"] must be a number from 0 to 1, not 2'),
    ({"choices": {"good": True}}, 'validate: choices["good"] must be a number from 0 to 1, not True'),
    ({"choices": {" ": 1}}, 'validate: choices has a choice that is no text or blank: " "'),
    ({"choices": {False: 1}}, "validate: choices has a choice that is no text or blank: False"),
    ({"choices": ["good"]}, "validate: choices must be a dict from choice to score, not a list of 1"),
    ({"threshold": 1.5}, "validate: threshold must be a number from 0 to 1, not 1.5"),
    ({"timeout_ms": 999}, "validate: timeout_ms must be a whole number from 1,000 to 300,000, not 999"),
    ({"files": []}, "validate: files must hold at least 1"),
    ({"files": [f"{n}" for n in range(9)]}, "validate: files must hold at most 8, there are 9"),
    ({"files": ["../x"]}, 'validate: files[0] must stay inside the workspace, "../x" does not'),
    ({"files": ["/etc/passwd"]}, 'validate: files[0] must be relative to the workspace, with forward slashes, not "/etc/passwd"'),
    ({"votes": 2}, "validate: votes must be odd, so that there is one in the middle, not 2"),
    ({"votes": 11}, "validate: votes must be a whole number from 1 to 9, not 11"),
    ({"workspace": True}, "validate: workspace needs a harness: a plain model call cannot look around"),
    ({"treshold": 1}, 'validate has an unknown field "treshold"'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_what_a_judge_may_not_hold(change: dict[str, Any], message: str) -> None:
    """One message each; the builder itself never raises."""
    fields = {key: value for key, value in {**JUDGE, **change}.items() if value is not None}
    assert texts(a_suite(validate=judge(**fields))) == [message]
    assert texts(a_suite(validate=[judge(**fields)])) == [message.replace("validate", "validate[0]", 1)]


def test_judges_of_one_case_have_different_names() -> None:
    """Their records and void fields go by name; 20 checks and judges are the most."""
    assert texts(a_suite(validate=[judge(**JUDGE), judge(**JUDGE)])) == [
        'validate holds two judges called "tone"'
    ]
    many = [judge(**{**JUDGE, "name": f"j{n}"}) for n in range(21)]
    assert texts(a_suite(validate=many)) == ["validate must hold at most 20 checks, there are 21"]


def test_people() -> None:
    """Builder and dict are the same, and a script stays a script."""
    for made in (human(goal="g", prompt="p"), {"goal": "g", "prompt": "p"}):
        user = only(user=made).user
        assert user is not None and user.sphynx_kind == "human"
        assert (user.goal, user.prompt, user.harness, user.model) == ("g", "p", None, None)  # pyright: ignore
    user = only(user=human(goal="g", prompt="p", harness="codex", model="m")).user
    assert (user.harness, user.model) == ("codex", "m")  # pyright: ignore


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"goal": None}, "goal is missing"),
        ({"goal": "g" * 2_001}, "goal must be at most 2,000 characters, this one has 2,001"),
        ({"prompt": "p" * 8_001}, "prompt must be at most 8,000 characters, this one has 8,001"),
        ({"harness": "codex"}, "model is missing, a harness needs one"),
        ({"model": "m"}, "model cannot stand without harness"),
        ({"harness": "command", "model": "m"}, 'harness cannot be "command", which has no model to ask'),
        ({"harness": "oracle", "model": "m"}, 'harness cannot be "oracle", which has no model to ask'),
    ],
)
def test_what_a_person_may_not_hold(fields: dict[str, Any], message: str) -> None:
    """The place says whether a builder or a dict was used."""
    given = {key: value for key, value in {"goal": "g", "prompt": "p", **fields}.items() if value is not None}
    assert texts(a_suite(user=human(**given))) == [f"user: human().{message}"]
    if len(given) > 1:
        assert texts(a_suite(user=given)) == [f"user.{message}"]


def test_an_unknown_field_of_a_person_names_the_nearest() -> None:
    """As everywhere."""
    (found,) = a_suite(user=human(goal="g", prompt="p", modle="m")).problems()  # pyright: ignore
    assert (found.message, found.hint) == ('user has an unknown field "modle"', 'did you mean "model"?')
