"""Where workspaces come from, and that a clone's credentials stay out of everything."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from eval_project import Project, git_repository
from sphynx.engine.sources import git_reason, split_credentials

pytestmark = pytest.mark.anyio

CASE = 'validate=command("cat a.txt && git rev-parse HEAD && git status --porcelain")'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.agent("true")
    return project


@pytest.fixture
def commits(tmp_path: Path) -> list[str]:
    """A repository beside the eval file with two commits, a tag on the first and a branch on the second."""
    repository = tmp_path / "project" / "app"
    ids = git_repository(repository, [{"a.txt": "one\n"}, {"a.txt": "two\n"}])
    for args in (["tag", "v1", ids[0]], ["branch", "next", ids[1]]):
        subprocess.run(["git", *args], cwd=repository, check=True)
    return ids


async def _said(project: Project, source: str) -> list[str]:
    project.suite(f"""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[case(id="one", source={source}, {CASE})])
    """)
    trial = await project.trial()
    assert trial.status == "passed", trial.reason
    return trial.validations[0]["output"]["text"].splitlines()


async def test_files_are_written_with_their_folders(project: Project) -> None:
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="one", source=files({"src/deep/a.txt": "hi"}),
                 validate=command("grep -q hi src/deep/a.txt")),
        ])
    """)
    assert (await project.trial()).status == "passed"


async def test_a_local_path_is_cloned_shallow(project: Project, commits: list[str]) -> None:
    assert await _said(project, 'repo("./app")') == ["two", commits[1]]
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="one", source=repo("./app"), validate=command("test $(git rev-list --all | wc -l) = 1")),
        ])
    """)
    assert (await project.trial()).status == "passed"


@pytest.mark.parametrize("ref", ["v1", "full", "short"])
async def test_tags_and_commits_are_checked_out(project: Project, commits: list[str], ref: str) -> None:
    named = {"v1": "v1", "full": commits[0], "short": commits[0][:7]}[ref]
    assert await _said(project, f'repo("./app", ref="{named}")') == ["one", commits[0]]


async def test_file_urls_and_branches_work(project: Project, commits: list[str]) -> None:
    url = (project.root / "app").as_uri()
    assert await _said(project, f'repo("{url}", ref="next")') == ["two", commits[1]]


async def test_a_workspace_of_one_commit_holds_no_later_one(project: Project, commits: list[str]) -> None:
    project.suite(f"""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="one", source=repo("./app", ref="v1"),
                 validate=command("! git cat-file -e {commits[1]}")),
        ])
    """)
    assert (await project.trial()).status == "passed"


async def test_the_diff_of_a_clone_shows_what_the_agent_did_even_if_it_commits(
    project: Project, commits: list[str]
) -> None:
    project.agent("""
        echo three > a.txt; echo new > b.txt
        git -c user.name=a -c user.email=a@example.com commit -qam "agent's own"
        rm -f .git/index
    """)
    project.suite("""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", source=repo("./app"), validate=command("true"))])
    """)
    trial = await project.trial()
    assert trial.files_changed == ["a.txt", "b.txt"]
    assert "-two" in (trial.diff or "") and "+three" in (trial.diff or "") and "+new" in (trial.diff or "")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ('repo("file:///nothing.git")', "nothing"),
        ('repo("./app", ref="no-such-branch")', "no-such-branch"),
        ('repo("./app", ref="abcdef1")', "abcdef1"),
    ],
)
async def test_a_clone_that_fails_is_void_with_gits_reason(
    project: Project, commits: list[str], source: str, reason: str
) -> None:
    project.suite(f"""
        demo = suite(id="demo", prompt="x", variants=[AGENT],
                     cases=[case(id="one", source={source}, validate=command("true"))])
    """)
    trial = await project.trial()
    assert (trial.status, trial.cause, trial.stage) == ("void", "setup", "source")
    assert (trial.reason or "").startswith("Cannot clone ") and reason in (trial.reason or "")


class _Server(http.server.BaseHTTPRequestHandler):
    """Git over plain HTTP behind a password."""

    root = ""
    seen: list[str | None] = []

    def do_GET(self) -> None:
        given = self.headers.get("Authorization")
        self.seen.append(given)
        path = Path(self.root) / self.path.split("?")[0].lstrip("/")
        if given is None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
        elif path.is_file():
            self.send_response(200)
            self.end_headers()
            self.wfile.write(path.read_bytes())
        else:
            self.send_error(404)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path, commits: list[str]) -> Iterator[str]:
    bare = tmp_path / "served" / "app.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(tmp_path / "project" / "app"), str(bare)], check=True)
    subprocess.run(["git", "update-server-info"], cwd=bare, check=True)
    handler = type("Handler", (_Server,), {"root": str(bare.parent), "seen": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


async def test_credentials_of_a_url_reach_the_server_and_nothing_else(project: Project, server: str) -> None:
    project.suite(f"""
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="one", source=repo("http://robot:hunter2-hunter2@{server}/app.git"),
                 validate=command("cat .git/config; git remote -v; cat a.txt; env")),
            case(id="two", source=repo("http://robot:hunter2-hunter2@{server}/none.git"),
                 validate=command("true")),
        ])
    """)
    result = await project.run()
    cloned, failed = result.trials
    # Plain files over HTTP know no shallow clones: git says so, and the reason is what we look at.
    assert cloned.status == "void" and "shallow" in (cloned.reason or "")
    assert failed.status == "void" and "none.git" in (failed.reason or "")
    stored = b"".join(path.read_bytes() for path in result.folder.rglob("*") if path.is_file())
    assert b"hunter2" not in stored


class _Gateway(http.server.BaseHTTPRequestHandler):
    """Git's own server behind a token in the query, where git itself adds what it asks for."""

    root = ""
    token = "query-token-12345"

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?token=")
        token, _, asked = query.partition("/")
        if token != self.token:
            self.send_error(403)
            return
        place, _, rest = asked.partition("&")
        length = self.headers.get("Content-Length", "0")
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": self.root, "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"{path}/{place}", "QUERY_STRING": rest, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": length,
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }  # fmt: skip
        body = self.rfile.read(int(length))
        said = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True).stdout
        head, _, data = said.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
        for header in headers.items():
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def gateway(tmp_path: Path, commits: list[str]) -> Iterator[str]:
    bare = tmp_path / "served" / "app.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(tmp_path / "project" / "app"), str(bare)], check=True)
    handler = type("Handler", (_Gateway,), {"root": str(bare.parent)})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}"
        httpd.shutdown()


async def test_a_token_in_a_urls_query_reaches_the_server_and_nothing_else(
    project: Project, gateway: str, commits: list[str]
) -> None:
    """Neither a file below the workspace's ``.git`` nor the batch folder holds it."""
    url = f"{gateway}/app.git?token={_Gateway.token}"
    project.suite(f"""
        def look(ctx):
            import pathlib
            held = [str(path) for path in pathlib.Path(ctx.workspace).rglob("*")
                    if path.is_file() and b"query-tok" + b"en-12345" in path.read_bytes()]
            return Verdict(not held, str(held))
        demo = suite(id="demo", prompt="x", variants=[AGENT], capture_source=False, cases=[
            case(id="newest", source=repo("{url}"), validate=look),
            case(id="tagged", source=repo("{url}", ref="v1"), validate=look),
            case(id="short", source=repo("{url}", ref="{commits[0][:9]}"), validate=look),
            case(id="none", source=repo("{gateway}/none.git?token={_Gateway.token}"), validate=look),
        ])
    """)
    result = await project.run()
    *cloned, failed = result.trials
    assert [(trial.status, trial.reason) for trial in cloned] == [("passed", None)] * 3
    assert failed.status == "void" and "none.git" in (failed.reason or "")
    stored = b"".join(path.read_bytes() for path in result.folder.rglob("*") if path.is_file())
    assert _Gateway.token.encode() not in stored


def test_credentials_are_split_off_and_known_in_every_form() -> None:
    found = split_credentials("https://robot:p%40ss-word-1@example.com:8443/a/b.git")
    assert found.url == "https://example.com:8443/a/b.git"
    assert {"p%40ss-word-1", "p@ss-word-1"} < set(found.secrets)
    assert found.env["GIT_CONFIG_KEY_0"] == "http.https://example.com:8443/.extraHeader"
    assert split_credentials("https://token-only-1@example.com/a.git").secrets[-1] == "token-only-1"
    queried = split_credentials("https://me:p%40ss-word-1@example.com/a.git?token=t%2Fk-12345678")
    assert queried.url == "https://example.com/a.git"
    assert {"t/k-12345678", "t%2Fk-12345678"} < set(queried.secrets)
    assert queried.env["GIT_CONFIG_COUNT"] == "2"
    assert split_credentials("https://example.com/a.git").env == {}
    assert split_credentials("ssh://git@example.com/a.git").url == "ssh://git@example.com/a.git"


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("file://me:pass-word-1@localhost/srv/a.git", "file://localhost/srv/a.git"),
        ("ssh://git:pass-word-1@example.com:22/a.git", "ssh://git@example.com:22/a.git"),
        ("git://me:pass-word-1@example.com/a.git", "git://me@example.com/a.git"),
    ],
)
def test_a_password_no_protocol_would_use_is_dropped(url: str, clean: str) -> None:
    """Git would show it in the process list and keep it in the workspace."""
    found = split_credentials(url)
    assert found.url == clean
    assert "pass-word-1" in found.secrets
    assert not found.env


def test_gits_reason_is_the_line_that_says_why() -> None:
    text = "Cloning into 'x'...\nremote: Repository not found.\nfatal: repository 'u' not found\n"
    assert git_reason(text) == "repository 'u' not found"
    assert git_reason("something odd\n") == "something odd"
