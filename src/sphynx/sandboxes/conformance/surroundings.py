"""What commands find: folders and variables."""

from __future__ import annotations

from sphynx.contracts import Sandbox
from sphynx.sandboxes.conformance.checks import check, sh


@check
async def starts_in_the_workspace(box: Sandbox) -> None:
    """Commands start in the workspace."""
    done = await sh(box, "pwd -P")
    assert done.stdout.decode().strip().rsplit("/", 1)[-1] == box.workspace.rsplit("/", 1)[-1]
    await box.write("here.txt", b"")
    assert (await box.exec(["test", "-e", "here.txt"])).exit_code == 0


@check
async def cwd_is_relative_to_the_workspace(box: Sandbox) -> None:
    """A relative ``cwd`` is below the workspace, an absolute one is itself."""
    await box.write("sub/folder/file.txt", b"")
    assert (await box.exec(["test", "-e", "file.txt"], cwd="sub/folder")).exit_code == 0
    assert (await box.exec(["test", "-e", "folder"], cwd=f"{box.workspace}/sub")).exit_code == 0


@check
async def missing_cwd_is_an_exit_code(box: Sandbox) -> None:
    """A ``cwd`` that is not there ends with 126 or 127 and is named on stderr; the sandbox goes on."""
    done = await box.exec(["true"], cwd="no/such/folder")
    assert done.exit_code in (126, 127)
    assert b"no/such/folder" in done.stderr
    assert (await box.exec(["true"])).exit_code == 0


@check
async def env_is_added(box: Sandbox) -> None:
    """Variables of the call are seen, with any characters, and override those of the spec."""
    value = "two\nlines 'quoted' $HOME ünï"
    line = 'printf "%s|%s" "$ADDED" "$SPEC_VARIABLE"'
    done = await sh(box, line, env={"ADDED": value, "SPEC_VARIABLE": "of the call"})
    assert done.stdout.decode() == f"{value}|of the call"


@check
async def spec_env_is_seen(box: Sandbox) -> None:
    """Variables of the spec are seen by every command, those of one call by no other."""
    await sh(box, "true", env={"ONLY_ONCE": "1"})
    done = await sh(box, 'printf "%s|%s" "$SPEC_VARIABLE" "$ONLY_ONCE"')
    assert done.stdout == b"of the spec|"


@check
async def large_env(box: Sandbox) -> None:
    """Variables of 100,000 characters each, 600,000 together, arrive whole."""
    env = {f"LARGE_{number}": "v" * 100_000 for number in range(6)}
    done = await sh(box, "echo ${#LARGE_0} ${#LARGE_5}", env=env)
    assert done.stdout == b"100000 100000\n"


@check
async def home_and_tmp_are_its_own(box: Sandbox) -> None:
    """HOME and TMPDIR are the sandbox's, exist, can be written, and are not the workspace."""
    done = await sh(box, 'touch "$HOME/a" "$TMPDIR/b" && printf "%s|%s" "$HOME" "$TMPDIR"')
    assert done.stdout.decode() == f"{box.home}|{box.tmp}"
    assert len({box.home, box.tmp, box.workspace}) == 3


@check
async def host_environment_stays_out(box: Sandbox) -> None:
    """Nothing of the host's environment is inherited beside PATH and LANG."""
    done = await box.exec(["env"])
    names = {line.split("=", 1)[0] for line in done.stdout.decode().splitlines() if "=" in line}
    allowed = {
        *("PATH", "HOME", "TMPDIR", "LANG", "BUN_INSTALL_CACHE_DIR", "npm_config_cache", "PIP_CACHE_DIR"),
        *(
            "UV_CACHE_DIR",
            "SPEC_VARIABLE",
            "USER",
            "LOGNAME",
            "SHELL",
            "TERM",
            "PWD",
            "SHLVL",
            "_",
            "HOSTNAME",
        ),
    }
    assert names <= allowed, names - allowed


@check
async def path_finds_the_usual(box: Sandbox) -> None:
    """PATH leads to the usual programs; a PATH of the call is used to find the command itself."""
    await box.write("bin/greet", b"#!/bin/sh\necho greetings\n", mode=0o755)
    done = await box.exec(["greet"], env={"PATH": f"{box.workspace}/bin:/usr/bin:/bin"})
    assert done.stdout == b"greetings\n"
