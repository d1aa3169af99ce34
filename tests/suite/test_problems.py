"""Every limit of a suite, its cases and its variants is told with place, value and nearest name."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import pytest

from sphynx.suite import Suite, case, command, empty, files, named, repo, suite, variant
from sphynx.validators import script


def ok(ctx) -> bool:
    return True


def a_suite(case_fields: dict[str, Any] | None = None, **over: Any) -> Suite:
    """A suite with nothing wrong but what the arguments make wrong."""
    one = {"id": "one", "validate": ok, **(case_fields or {})}
    fields: dict[str, Any] = {
        "id": "s",
        "prompt": "Do it",
        "cases": [one],
        "variants": [{"harness": "codex", "model": "m"}],
    }
    return suite(**{**fields, **over})


def texts(made: Suite) -> list[str]:
    return [found.message for found in made.problems()]


def test_a_good_suite_has_no_problems() -> None:
    """The documented shape is accepted, with builders and with dicts."""
    made = suite(
        id="api",
        source=repo("acme/api@8f31c4a"),
        prompt="{{task}}",
        cases=[
            case(id="health-route", variables={"task": "Add a route"}, validate=[ok]),
            {"id": "tests-pass", "variables": {"task": "Mend it"}, "validate": command("bun test")},
        ],
        variants=[variant(harness="codex", model="gpt-5.6-sol"), {"harness": "pi", "model": "m"}],
        trials=3,
    )
    assert made.problems() == []
    assert made.warnings() == []
    assert [(one.id, one.name, len(one.checks)) for one in made.cases] == [
        ("health-route", "health-route", 1),
        ("tests-pass", "tests-pass", 0),
    ]
    assert made.cases[1].command is not None
    assert made.cases[1].command.command == "bun test"


def test_defaults() -> None:
    """What is not given takes the documented default."""
    made = a_suite()
    one = made.cases[0]
    assert (made.name, made.trials, made.capture_source, made.capture_validation) == ("s", 1, True, True)
    assert (made.include, made.source, made.source_of(one)) == ([], None, empty)
    assert (one.effective_max_turns, one.effective_timeout_ms, one.max_turns, one.timeout_ms) == (
        8, 900_000, None, None,
    )  # fmt: skip
    assert (one.checks[0].timeout_ms, command("x").timeout_ms) == (300_000, 600_000)
    assert (one.tags, one.variables, one.cache, one.prepare, one.user) == ([], {}, None, None, None)
    kind = made.variants[0]
    assert (kind.sandbox, kind.profile, kind.harness_version, kind.options) == (None, None, None, {})


def test_a_cases_source_comes_before_the_suites() -> None:
    """A case's own source wins, the suite's fills in, else the workspace is empty."""
    made = a_suite(
        source=repo("a/b"), cases=[{"id": "x", "validate": ok, "source": empty}, {"id": "y", "validate": ok}]
    )
    assert [made.source_of(one).kind for one in made.cases] == ["empty", "repo"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"timout_ms": 5}, 'unknown field "timout_ms"'),
        ({"mcp": []}, 'unknown field "mcp"'),
        ({"id": "Reads It"}, 'id must be lowercase letters, digits and single hyphens, at most 100, not "Reads It"'),
        ({"id": "a--b"}, 'id must be lowercase letters, digits and single hyphens, at most 100, not "a--b"'),
        ({"id": "a\n"}, 'id must be lowercase letters, digits and single hyphens, at most 100, not "a\\n"'),
        ({"id": None}, "id is missing"),
        ({"id": 7}, "id must be text, not 7"),
        ({"name": "n" * 201}, "name must be at most 200 characters, this one has 201"),
        ({"variables": "task"}, 'variables must be a dict of texts, not "task"'),
        ({"variables": {"n": 3}}, 'variables["n"] must be text, not 3'),
        ({"variables": {"n": "v" * 2049}}, 'variables["n"] must be at most 2,048 characters, this one has 2,049'),
        ({"variables": {"n": "\ud800"}}, 'variables["n"] must be valid Unicode without NUL characters'),
        ({"prepare": "npm ci"}, 'prepare must be a function, not "npm ci"'),
        ({"cache": "deps"}, 'cache must be a dict, not "deps"'),
        ({"cache": {"key": "k"}}, "cache.path is missing"),
        ({"cache": {"key": "", "path": "x"}}, "cache.key must not be blank"),
        ({"cache": {"key": "k", "path": "../x"}}, 'cache.path must stay inside the workspace, "../x" does not'),
        ({"cache": {"key": "k", "path": "."}}, 'cache.path must name something inside the workspace, not "."'),
        ({"cache": {"key": "k", "path": "./.sphynx/x"}}, "cache.path must not be below .sphynx, which belongs to the trial"),
        ({"cache": {"key": "k", "path": "/x"}}, 'cache.path must be relative to the workspace, with forward slashes, not "/x"'),
        ({"cache": {"key": "k", "path": 3}}, "cache.path must be text, not 3"),
        ({"cache": {"key": "k", "path": "a\0b"}}, "cache.path must be valid Unicode without NUL characters"),
        ({"cache": {"key": "k", "path": "a" * 513}}, "cache.path must be at most 512 characters, this one has 513"),
        ({"cache": {"key": "k", "path": "C:/x"}}, 'cache.path must be relative to the workspace, with forward slashes, not "C:/x"'),
        ({"solution": dict}, "solution must be a function, not the class dict"),
        ({"tags": "slow"}, 'tags must be a list of texts, not "slow"'),
        ({"tags": [""]}, "tags[0] must not be blank"),
        ({"tags": ["t" * 41]}, "tags[0] must be at most 40 characters, this one has 41"),
        ({"tags": ["t"] * 13}, "tags must hold at most 12, there are 13"),
        ({"max_turns": 0}, "max_turns must be a whole number from 1 to 50, not 0"),
        ({"max_turns": 51}, "max_turns must be a whole number from 1 to 50, not 51"),
        ({"max_turns": True}, "max_turns must be a whole number from 1 to 50, not True"),
        ({"timeout_ms": 999}, "timeout_ms must be a whole number from 1,000 to 3,600,000, not 999"),
        ({"timeout_ms": 3_600_001}, "timeout_ms must be a whole number from 1,000 to 3,600,000, not 3600001"),
        ({"timeout_ms": 1e4}, "timeout_ms must be a whole number from 1,000 to 3,600,000, not 10000.0"),
        ({"validate": None}, "validate is missing"),
        ({"validate": []}, "validate must hold at least one check"),
        ({"validate": "bun test"}, 'validate must be a function, judge() or command(), not "bun test"'),
        ({"validate": dict}, "validate must be a function, judge() or command(), not the class dict"),
        ({"validate": [ok] * 21}, "validate must hold at most 20 checks, there are 21"),
        ({"validate": [ok, command("x")]}, "validate[1] is a command(), which cannot go in a list"),
        ({"validate": lambda: True}, "validate must take one argument, the context; <lambda>() does not"),
        ({"validate": [ok, named("two", lambda a, b: True)]}, "validate[1]: fn must take one argument, the context; <lambda>(a, b) does not"),
        ({"prepare": lambda: None}, "prepare must take one argument, the context; <lambda>() does not"),
        ({"solution": lambda a, *, b: None}, "solution must take one argument, the context; <lambda>(a, *, b) does not"),
        ({"validate": [ok, 3]}, "validate[1] must be a function, judge() or command(), not 3"),
        ({"validate": command(" ")}, "validate: command must not be blank"),
        ({"validate": command("x" * 8193)}, "validate: command must be at most 8,192 characters, this one has 8,193"),
        ({"validate": command("x", timeout_ms=5)}, "validate: timeout_ms must be a whole number from 1,000 to 3,600,000, not 5"),
        ({"validate": {"command": "x", "timeout": 5}}, 'validate has an unknown field "timeout"'),
        ({"validate": [named("n" * 201, ok)]}, "validate[0]: name must be at most 200 characters, this one has 201"),
        ({"user": "yes"}, 'user must be human(...) or script([...]), not "yes"'),
        ({"user": script([])}, "user: script() must hold at least 1"),
        ({"user": script(["y"] * 25)}, "user: script() must hold at most 24, there are 25"),
        ({"user": script(["y", " "])}, "user: script()[1] must not be blank"),
        ({"user": script(["y" * 4001])}, "user: script()[0] must be at most 4,000 characters, this one has 4,001"),
        ({"user": {"replies": "yes"}}, 'user.replies must be a list of replies, not "yes"'),
        ({"solution": 3}, "solution must be a shell command or a function, not 3"),
        ({"solution": ""}, "solution must not be blank"),
    ],
)  # fmt: skip
def test_what_a_case_may_not_hold(fields: dict[str, Any], message: str) -> None:
    """Each rule of a case has its own message, and breaking one shows no other."""
    made = a_suite(fields, prompt="Do {{n}}" if "n" in (fields.get("variables") or ()) else "Do it")
    assert texts(made) == [message]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"id": ""}, 'id must be lowercase letters, digits and single hyphens, at most 100, not ""'),
        ({"id": "a" * 101}, f'id must be lowercase letters, digits and single hyphens, at most 100, not "{"a" * 75}..."'),
        ({"name": " "}, "name must not be blank"),
        ({"name": "n" * 201}, "name must be at most 200 characters, this one has 201"),
        ({"prompt": None}, "prompt is missing"),
        ({"prompt": "p" * 16_385}, "prompt must be at most 16,384 characters, this one has 16,385"),
        ({"trials": 0}, "trials must be a whole number from 1 to 10, not 0"),
        ({"trials": 11}, "trials must be a whole number from 1 to 10, not 11"),
        ({"trials": "3"}, 'trials must be a whole number from 1 to 10, not "3"'),
        ({"cases": []}, "cases must hold at least 1"),
        ({"cases": {"id": "x"}}, "cases must be a list of cases, not a dict of 1"),
        ({"cases": None}, "cases is missing"),
        ({"variants": []}, "variants must hold at least 1"),
        ({"variants": None}, "variants is missing"),
        ({"variants": ["codex"]}, 'variants[0] must be variant() or a dict, not "codex"'),
        ({"capture_source": "no"}, 'capture_source must be True or False, not "no"'),
        ({"capture_validation": 0}, "capture_validation must be True or False, not 0"),
        ({"include": "data.json"}, 'include must be a list of paths, not "data.json"'),
        ({"include": [" "]}, "include[0] must not be blank"),
        ({"varaints": []}, 'unknown field "varaints"'),
        ({"source": "acme/api"}, 'source must be repo(), files() or empty, not "acme/api"'),
        ({"source": {"kind": "zip"}}, 'source must have a "kind" of "repo", "files" or "empty"'),
    ],
)  # fmt: skip
def test_what_a_suite_may_not_hold(fields: dict[str, Any], message: str) -> None:
    """Each rule of a suite has its own message."""
    assert texts(a_suite(**fields)) == [message]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"harness": "codx"}, 'harness "codx" is not known'),
        ({"harness": 3}, "harness must be a harness name or a function, not 3"),
        ({"harness": None}, "harness is missing"),
        ({"model": None}, "model is missing"),
        ({"model": ""}, "model must not be blank"),
        ({"sandbox": "e3b"}, 'sandbox must be one of e2b, daytona, upstash, modal, cloudflare, vercel, local, docker, not "e3b"'),
        ({"profile": "./p"}, 'profile must be a dict, not "./p"'),
        ({"profile": {"name": "p"}}, "profile.dir is missing"),
        ({"profile": {"name": "P", "dir": "p"}}, 'profile.name must be lowercase letters, digits and hyphens, at most 64, not "P"'),
        ({"profile": {"name": "p", "dir": "p", "dri": "q"}}, 'profile has an unknown field "dri"'),
        ({"harness": "command"}, 'profile is missing, and harness "command" needs one'),
        ({"bare": False}, 'bare works with harness claude, not "codex"'),
        ({"harness_version": ""}, "harness_version must not be blank"),
        ({"modle": "m"}, 'unknown field "modle"'),
    ],
)  # fmt: skip
def test_what_a_variant_may_not_hold(fields: dict[str, Any], message: str) -> None:
    """Each rule of a variant has its own message."""
    assert texts(a_suite(variants=[{"harness": "codex", "model": "m", **fields}])) == [message]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (repo("acme"), "source: repo() takes owner/name, owner/name@ref, a clone URL or a path like ./app, not \"acme\""),
        (repo("a/b", ref="-x"), 'source: repo() ref must be a branch, tag or commit, not "-x"'),
        (repo("a/b@x", ref="y"), 'source: repo() names two refs, "x" and "y"'),
        (repo("https://h/a b.git"), 'source: repo() cannot clone "https://h/a b.git"'),
        (files({"../a": ""}), 'source: files()["../a"] must stay inside the workspace, "../a" does not'),
        (files({"/a": ""}), 'source: files()["/a"] must be relative to the workspace, with forward slashes, not "/a"'),
        (files({"a/": ""}), 'source: files()["a/"] must name a file, "a/" names a folder'),
        (files({"a": 3}), 'source: files()["a"] must be text, not 3'),  # type: ignore[dict-item]
        (files({"a": "\0"}), 'source: files()["a"] must be valid Unicode without NUL characters'),
        (repo(3), "source: repo() must be text, not 3"),  # type: ignore[arg-type]
        (repo("a/b", ref=3), "source: repo() ref must be text, not 3"),  # type: ignore[arg-type]
        (files({"a": "", "./a": ""}), 'source: files()["./a"] is the same file as "a"'),
        (files({"a/b/c": "", "a": ""}), 'source: files()["a/b/c"] is below "a", which is a file'),
        (files({"a": "x" * 2_000_001}), "source: files() must hold at most 2,000,000 characters, there are 2,000,001"),
        (files("a"), 'source: files() must be a dict of texts by path, not "a"'),  # type: ignore[arg-type]
        ({"kind": "repo"}, "source.url is missing"),
        ({"kind": "files", "files": {"../x": ""}}, 'source: files()["../x"] must stay inside the workspace, "../x" does not'),
    ],
)  # fmt: skip
def test_what_a_source_may_not_be(source: Any, message: str) -> None:
    """Repositories and files are checked where they are used."""
    assert texts(a_suite({"source": source})) == [message]


def test_all_problems_are_told_at_once_with_their_places() -> None:
    """Nothing hides behind the first problem; each names suite, case and the user's own line."""
    made = a_suite(id="Bad Id", trials=99, cases=[case(id="x", timout_ms=1, validate=ok), {"name": "no id"}])  # type: ignore[call-arg]
    found = made.problems()
    assert [(one.where, one.message.split(",")[0]) for one in found] == [
        ('suite "Bad Id"', "id must be lowercase letters"),
        ('suite "Bad Id"', "trials must be a whole number from 1 to 10"),
        ('suite "Bad Id", case "x"', 'unknown field "timout_ms"'),
        ('suite "Bad Id", case 2', "id is missing"),
        ('suite "Bad Id", case 2', "validate is missing"),
        ('suite "Bad Id"', "2 cases x 1 variant x 99 trials are 198 trials"),
    ]
    assert found[2].hint == 'did you mean "timeout_ms"?'
    assert {one.file for one in found} == {__file__}
    assert all(one.line > 0 for one in found)


def test_ids_are_used_once() -> None:
    """A case id that comes twice is one problem naming the id."""
    twice = [{"id": "x", "validate": ok}, {"id": "x", "validate": ok}]
    assert texts(a_suite(cases=twice)) == ['cases holds the id "x" 2 times']


@pytest.mark.parametrize(
    ("other", "problems"),
    [
        ({"sandbox": "e2b"}, ["variants holds codex/m on e2b 2 times"]),
        ({"sandbox": "local"}, []),
        ({"profile": {"name": "p", "dir": "p"}}, []),
        ({"harness_version": "1.2.3"}, ["variants holds codex/m 2 times"]),
    ],
)
def test_variants_are_distinct(other: dict[str, Any], problems: list[str]) -> None:
    """Harness, model, sandbox (e2b when not named) and profile name tell variants apart, a version does not."""
    pair = [{"harness": "codex", "model": "m"}, {"harness": "codex", "model": "m", **other}]
    assert texts(a_suite(variants=pair)) == problems


def test_a_batch_holds_at_most_100_trials() -> None:
    """Cases x variants x trials is counted; exactly 100 is fine."""
    many = [{"id": f"c{n}", "validate": ok} for n in range(50)]
    assert a_suite(cases=many, trials=2).problems() == []
    assert texts(a_suite(cases=many, trials=3)) == [
        "50 cases x 1 variant x 3 trials are 150 trials, a batch holds at most 100"
    ]


def test_counts_of_cases_and_variants() -> None:
    """100 cases and 20 variants are the most, whatever else is wrong."""
    many = [{"id": f"c{n}", "validate": ok} for n in range(101)]
    assert "cases must hold at most 100, there are 101" in texts(a_suite(cases=many))
    kinds = [{"harness": "codex", "model": f"m{n}"} for n in range(21)]
    assert texts(a_suite(variants=kinds)) == ["variants must hold at most 20, there are 21"]


def test_sizes_count_utf_16_units() -> None:
    """A character outside the basic plane counts twice, as on the wire."""
    assert texts(a_suite(prompt="😀" * 8_192)) == []
    assert texts(a_suite(prompt="😀" * 8_193)) == [
        "prompt must be at most 16,384 characters, this one has 16,386"
    ]


def test_a_placeholder_needs_a_value() -> None:
    """A placeholder without a value is an error that names the nearest variable."""
    made = a_suite({"variables": {"tsk": "x"}}, prompt="{{task}}")
    assert [(one.message, one.hint) for one in made.problems()] == [
        ('variables has no value for "task", which the prompt uses', 'did you mean "tsk"?')
    ]


def test_an_unused_variable_is_a_warning() -> None:
    """A value no placeholder uses does not stop a run."""
    made = a_suite({"variables": {"n": "x"}})
    assert made.problems() == []
    assert [one.message for one in made.warnings()] == ['variables["n"] is not used by the prompt']
    assert [one.message for one in a_suite(prompt=" ").warnings()] == ["prompt is empty"]


def test_passwords_of_urls_are_not_shown() -> None:
    """A clone URL's password does not reach the terminal through an error."""
    found = texts(a_suite({"source": repo("https://me:hunter2secret@h/a b")}))
    assert "hunter2secret" not in found[0]
    assert "https://me:...@h" in found[0]


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, object(), [3], {"a": [1]}, True, ok, b"x"])
@pytest.mark.parametrize("builder", ["suite", "case", "variant"])
def test_builders_never_raise(builder: str, value: Any) -> None:
    """Any value in any field is kept and told later, also when it cannot be hashed or measured."""
    names = {
        "suite": ["id", "name", "prompt", "source", "cases", "variants", "trials", "include"],
        "case": [
            "id",
            "name",
            "variables",
            "source",
            "prepare",
            "cache",
            "tags",
            "user",
            "max_turns",
            "validate",
        ],
        "variant": ["harness", "model", "sandbox", "profile", "harness_version", "bare"],
    }
    for name in names[builder]:
        if builder == "suite":
            made = suite(**{name: value})  # type: ignore[misc]
        elif builder == "case":
            made = a_suite(cases=[case(**{name: value})])  # type: ignore[misc]
        else:
            made = a_suite(variants=[variant(**{name: value})])  # type: ignore[misc]
        assert made.problems() != []
        made.warnings()
        repr(made)
        [repr(one) for one in (*made.cases, *made.variants)]
