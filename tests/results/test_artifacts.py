"""Which changed files are kept beside a trial."""

from __future__ import annotations

import pytest

from case_data import case_id, load
from sphynx.redaction import MARK, Redactor
from sphynx.results.artifacts import FILE_LIMIT, TOTAL_LIMIT, candidates, safe_diff, select

SECRET = "hunter2-hunter2"
CLEAN = Redactor([SECRET])


@pytest.mark.parametrize("case", load("artifacts"), ids=case_id)
def test_worked_case(case: dict) -> None:
    """The worked cases of the contract."""
    assert candidates(case["input"]["changed"], case["input"]["workspace"]) == case["expected"]["paths"]


@pytest.mark.parametrize(
    "path",
    ["a\0b.py", "x" * 510 + ".py", "../a.py", "a/../b.py", ".py", "README", "/etc/a.py", "", "Secrets/a.py"],
)
def test_paths_that_are_never_kept(path: str) -> None:
    """Outside, hidden, too long, without an ending, named after secrets in any case."""
    assert candidates([path], "/w") == []


@pytest.mark.parametrize(
    "path", ["a/client_secret.py", ".env.local", "x/auth.json", "id.pem", "Credentials/b b/c"]
)
def test_a_diff_leaves_out_what_is_named_after_secrets(path: str) -> None:
    before = "diff --git a/ok.py b/ok.py\n@@ -1 +1 @@\n-a\n+diff --git a/secret b/secret\n"
    entry = f"diff --git a/{path} b/{path}\nnew file mode 100644\n+++ b/{path}\n@@ -0,0 +1 @@\n+value\n"
    text, left_out = safe_diff(before + entry + before)
    assert left_out == [path]
    assert text == before + f"diff --git a/{path} b/{path}\nLeft out: {path} may hold a secret\n" + before


def test_an_ordinary_diff_is_left_as_it_is() -> None:
    diff = "diff --git a/ok.py b/ok.py\n@@ -1 +1 @@\n-a\n+secret handshake\n"
    assert safe_diff(diff) == (diff, [])
    assert safe_diff("") == ("", [])


def test_files_are_redacted() -> None:
    """What is stored is the redacted text."""
    assert select({"a.py": f"key = {SECRET}\n".encode()}, CLEAN) == [("a.py", f"key = {MARK}\n")]


@pytest.mark.parametrize(
    "content",
    [
        b"\0binary",
        b"\xff\xfe not utf-8",
        b"x" * (FILE_LIMIT + 1),
        b"-----BEGIN PRIVATE KEY----- and more",
        b"PASSWORD = 'correct-horse-battery'",
        b'{"client_secret": "abcdefghijkl"}',
        b'apiKey: "0123456789ab"',
        b"sk-" + b"abcdefghijklmnopq",
    ],
)
def test_files_that_are_never_kept(content: bytes) -> None:
    """No text, too long, or still holding something like a key or a password."""
    assert select({"a.py": content, "b.py": b"fine"}, CLEAN) == [("b.py", "fine")]


def test_a_password_that_was_redacted_is_no_reason() -> None:
    """Once the value is gone the file may be kept; short values are no keys."""
    text = f'password = "{SECRET}"\ntoken = "short"\n'
    assert select({"a.py": text}, CLEAN) == [("a.py", f'password = "{MARK}"\ntoken = "short"\n')]


def test_the_total_is_limited_and_a_smaller_one_may_still_fit() -> None:
    """A file that does not fit does not count."""
    big, small = b"x" * FILE_LIMIT, b"y" * 100
    rest = TOTAL_LIMIT - 3 * FILE_LIMIT - 50
    contents = {
        "1.txt": big,
        "2.txt": big,
        "3.txt": big,
        "4.txt": b"z" * rest,
        "5.txt": small,
        "6.txt": b"ok",
    }
    assert [path for path, _ in select(contents, CLEAN)] == ["1.txt", "2.txt", "3.txt", "4.txt", "6.txt"]


def test_a_file_named_after_a_secret_is_not_kept() -> None:
    """Its path would show what its text may not."""
    assert select({f"{SECRET}.txt": b"x"}, CLEAN) == []
