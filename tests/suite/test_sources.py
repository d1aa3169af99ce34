"""What ``repo()`` understands."""

from __future__ import annotations

import pytest

from sphynx.suite import repo
from sphynx.suite.sources import source_from


@pytest.mark.parametrize(
    ("text", "url", "ref"),
    [
        ("acme/api", "https://github.com/acme/api.git", None),
        ("acme/api.git", "https://github.com/acme/api.git", None),
        ("acme/api@8f31c4a", "https://github.com/acme/api.git", "8f31c4a"),
        ("acme/api@feature/x@2", "https://github.com/acme/api.git", "feature/x@2"),
        ("acme/next.js@v1.0", "https://github.com/acme/next.js.git", "v1.0"),
        ("https://git.quay.test/tide.git", "https://git.quay.test/tide.git", None),
        ("https://git.quay.test/tide.git@main", "https://git.quay.test/tide.git", "main"),
        ("https://u:p@git.quay.test/tide", "https://u:p@git.quay.test/tide", None),
        ("https://u:p@git.quay.test/@scope/tide.git", "https://u:p@git.quay.test/@scope/tide.git", None),
        ("git@github.com:acme/api.git", "git@github.com:acme/api.git", None),
        ("git@github.com:acme/api.git@v2", "git@github.com:acme/api.git", "v2"),
        ("ssh://git@host:22/acme/api.git", "ssh://git@host:22/acme/api.git", None),
        ("file:///tmp/with space/r.git", "file:///tmp/with space/r.git", None),
        ("/srv/repos/with space", "/srv/repos/with space", None),
        ("/srv/re@po", "/srv/re@po", None),
    ],
)
def test_forms(text: str, url: str, ref: str | None) -> None:
    """Short names mean GitHub; URLs and paths are taken as they are."""
    found = repo(text)
    assert (found.url, found.ref, found.text, found.local, found.faults) == (url, ref, text, False, [])


@pytest.mark.parametrize("text", ["./app", "../app", ".", "~/app"])
def test_relative_paths_are_local(text: str) -> None:
    """A relative path is resolved by whoever knows the eval file's folder."""
    assert (repo(text).local, repo(text).url) == (True, text)


def test_ref_may_be_given_apart() -> None:
    """``ref=`` works with every form."""
    assert repo("./app", ref="v1").ref == "v1"
    assert repo("https://h/a", ref="v1").ref == "v1"


@pytest.mark.parametrize(
    "text", ["--upload-pack=x", "-x/y", "a b/c", "acme/api@a b", "acme", "a/b/c", "", "acme/api@-x"]
)
def test_what_git_must_never_see(text: str) -> None:
    """Options in disguise and nonsense are faults."""
    assert repo(text).faults


def test_dict_forms() -> None:
    """A source may be written as a dict with a kind."""
    assert (
        repr(source_from({"kind": "repo", "url": "a/b", "ref": "x"}))
        == "repo(\"https://github.com/a/b.git\", ref='x')"
    )
    assert source_from({"kind": "files", "files": {"a": "b"}}).files == {"a": "b"}  # type: ignore[union-attr]
    assert source_from({"kind": "empty"}).kind == "empty"  # type: ignore[union-attr]
    assert source_from({"kind": "zip"}) is None
