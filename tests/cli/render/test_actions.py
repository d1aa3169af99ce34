"""What an agent did, in a verb and a subject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sphynx.cli.render import actions


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat src/routes.ts", ("read", "routes.ts")),
        ("sed -n 1,80p src/app/main.py", ("read", "main.py")),
        ("head -n 20 a.txt", ("read", "a.txt")),
        ("/bin/cat a.txt b/c.txt", ("read", "a.txt, c.txt")),
        ("sed -i s/a/b/ src/main.py", ("ran", "sed -i s/a/b/ src/main.py")),
        ("cat > out.txt", ("ran", "cat > out.txt")),
        ("cat a | wc -l", ("ran", "cat a | wc -l")),
        ("cat a && rm a", ("ran", "cat a && rm a")),
        ("cat", ("ran", "cat")),
        ("rg -n health src", ("searched", "health in src")),
        ("grep -rn 'a b' .", ("searched", "a b")),
        ("bash -lc 'cat hello.txt'", ("read", "hello.txt")),
        ("bash -lc 'make && make test'", ("ran", "make && make test")),
        ("bun test", ("ran", "bun test")),
        ("python - <<'E'\nprint(1)\nE", ("ran", "python - <<'E' …")),
        ("echo 'unclosed", ("ran", "echo 'unclosed")),
        ("", ("ran", "")),
    ],
)
def test_reading_and_searching_commands_say_so(command: str, expected: tuple[str, str]) -> None:
    assert actions.of_command(command)[1:] == expected


@pytest.mark.parametrize(
    ("payload", "subject"),
    [
        ('{"skill":"a:b"}', "a:b"),
        ('{"limit":3,"file_path":"/w/a.py"}', "/w/a.py"),
        ('{"other":"telling"}', "telling"),
        ('{"n":3}', '{"n": 3}'),
        ("{}", ""),
        ("plain text", "plain text"),
        ('"quoted"', "quoted"),
        (None, ""),
    ],
)
def test_a_tool_shows_the_telling_value_of_its_input(payload: str | None, subject: str) -> None:
    assert actions.of_tool("t", payload).subject == subject


def test_files_are_shown_by_their_base_names() -> None:
    assert actions.of_files(("a/b/c.py", "d.py")).subject == "c.py, d.py"


@given(st.text())
def test_no_command_breaks_the_line_or_raises(text: str) -> None:
    action = actions.of_command(text)
    assert "\n" not in action.subject
    assert "\x1b" not in action.subject
