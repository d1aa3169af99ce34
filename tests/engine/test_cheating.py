"""What an agent leaves behind must not decide for the checks that look at its work, nor hide what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_project import Project, git_repository

pytestmark = pytest.mark.anyio

FAKES = """
    mkdir -p ~/.local/bin
    for name in bash sh env test false grep python3 git; do
      printf '#!/bin/sh\\nexit 0\\n' > ~/.local/bin/$name; chmod +x ~/.local/bin/$name
    done
"""
STARTUP = "for name in .profile .bash_profile .bashrc .zshenv; do echo 'exit 0' > ~/$name; done"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("act", [FAKES, STARTUP], ids=["programs", "startup files"])
async def test_what_an_agent_puts_into_its_home_does_not_run_in_place_of_a_check(
    project: Project, act: str
) -> None:
    project.agent(act)
    project.suite("""
        import shutil, subprocess
        def shell(ctx): return ctx.exec("python3 -c 'raise SystemExit(1)'").exit_code == 0
        def own(ctx): return subprocess.run(["python3", "-c", "raise SystemExit(1)"]).returncode == 0
        line = command("/usr/bin/env python3 -c 'raise SystemExit(1)'")
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="false", validate=command("false")), case(id="line", validate=line),
            case(id="code", validate=[shell, own])])
    """)
    trials = (await project.run()).trials
    assert [trial.status for trial in trials] == ["failed"] * 3
    assert [v["status"] for trial in trials for v in trial.validations] == ["failed"] * 4


async def test_checks_find_what_only_the_agent_installed_and_login_as_the_author_set_up(
    project: Project,
) -> None:
    """Only what would come before the machine's own programs or the author's own profile is out."""
    project.agent("""
        mkdir -p ~/.local/bin; printf '#!/bin/sh\\necho installed\\n' > ~/.local/bin/only-here
        chmod +x ~/.local/bin/only-here; echo 'AUTHORS=agent; export AUTHORS' > ~/.profile
    """, install="echo 'AUTHORS=author; export AUTHORS; return 0' > ~/.profile")  # fmt: skip
    project.suite("""
        def both(ctx):
            done = ctx.exec('only-here; echo $AUTHORS $HOME; set | grep SPHYNX_LOGIN')
            assert done.stdout == f"installed\\nauthor {ctx.home}\\n", done
            return True
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="code", validate=both), case(id="line", validate=command("only-here"))])
    """)
    trials = (await project.run()).trials
    assert [(trial.status, trial.reason) for trial in trials] == [("passed", None)] * 2, trials


@pytest.mark.isolate
async def test_nor_does_it_in_a_trial_that_is_isolated(project: Project) -> None:
    project.agent(FAKES + STARTUP)
    project.suite("""
        def shell(ctx): return ctx.exec("python3 -c 'raise SystemExit(1)'").exit_code == 0
        demo = suite(id="demo", prompt="x", variants=[AGENT], cases=[
            case(id="false", validate=command("false")), case(id="code", validate=shell)])
    """)
    trials = (await project.run(isolate=True)).trials
    assert [(trial.isolation, trial.status) for trial in trials] == [("bubblewrap", "failed")] * 2


HIDE = """
    git config filter.x.clean "tr a-z n-za-m"; git config diff.external true
    git config core.excludesFile ~/all
    echo '*' > ~/all; cp ~/all .git/info/exclude; cp ~/all ~/.gitignore
    printf '* filter=x -diff ident\\nnew.py working-tree-encoding=UTF-16\\n' > .gitattributes
    git config --file ~/.gitconfig core.attributesFile ~/none; git config --file ~/.gitconfig core.bare true
    echo evil > a; echo 'evil code' > new.py; mkdir sub; git init -q sub; echo inner > sub/x
    for d in ~/.sphynx/diff/*; do [ -d $d ] && git --git-dir=$d config filter.x.clean "tr a-z n-za-m"; done
    GIT_INDEX_FILE=~/.sphynx/diff/index git update-index --skip-worktree a
    touch -r b a
"""


async def test_an_agent_cannot_falsify_the_diff_of_a_repository(project: Project) -> None:
    """Neither filters, attributes, excludes, a fake git nor a spoilt index change what is recorded."""
    git_repository(project.root / "repo", [{"a": "good\n", "b": "b\n", "w.bat": "one\ntwo\n"}])
    project.agent(HIDE + FAKES)
    project.suite("""
        demo = suite(id="demo", prompt="x", source=repo("./repo"), variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    trial = await project.trial()
    assert {"a", "new.py", ".gitattributes"} <= set(trial.files_changed), trial.files_changed
    assert "-good\n+evil\n" in (trial.diff or "") and "+evil code\n" in (trial.diff or ""), trial.diff
    assert any("sub/" in note for note in trial.notes), trial.notes


async def test_attributes_of_a_repository_do_not_make_lines_look_changed(project: Project) -> None:
    """What git writes otherwise than it keeps is compared as it was on disk."""
    attributes = "*.bat text eol=crlf\n"
    git_repository(project.root / "repo", [{"w.bat": "one\ntwo\n", ".gitattributes": attributes}])
    project.agent("printf 'one\\r\\nTWO\\r\\n' > w.bat")
    project.suite("""
        demo = suite(id="demo", prompt="x", source=repo("./repo"), variants=[AGENT],
                     cases=[case(id="one", validate=command("true"))])
    """)
    trial = await project.trial()
    assert trial.files_changed == ["w.bat"]
    assert " one\r\n-two\r\n+TWO\r\n" in (trial.diff or ""), trial.diff
