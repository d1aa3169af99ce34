"""The commands by name. A command's module is imported when it is named, so that ``--help`` starts fast."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from sphynx._version import __version__

PROGRAM = "sphynx"


class Registered(NamedTuple):
    """A command: where its function is and the line ``--help`` shows."""

    target: str
    help: str


COMMANDS: dict[str, Registered] = {
    "eval": Registered("sphynx.cli.commands.eval:run_eval", "Run eval suites and gate on the results"),
    "eval import": Registered(
        "sphynx.cli.commands.import_cases:import_cases", "Turn an existing case file into a suite"
    ),
    "skill accept": Registered(
        "sphynx.cli.commands.skill_accept:accept", "Take a skill's results as what has to hold"
    ),
    "skill grades": Registered(
        "sphynx.cli.commands.skill_grades:grades", "Read the grades another runner of skill evals left"
    ),
    "skill lint": Registered(
        "sphynx.cli.commands.skill:lint", "Say what is wrong with a skill and its evals"
    ),
    "judge calibrate": Registered(
        "sphynx.cli.commands.judge:calibrate", "Run a judge over answers people have labelled"
    ),
    "regrade": Registered(
        "sphynx.cli.commands.regrade:regrade", "Apply changed checks and judges to recorded trials"
    ),
    "show": Registered("sphynx.cli.commands.show:show", "Print a recorded batch or trial again"),
    "clean": Registered("sphynx.cli.commands.clean:clean", "List what can be removed; remove it when asked"),
    "models": Registered("sphynx.cli.commands.models:models", "List the models an agent takes, offline"),
    "doctor": Registered("sphynx.cli.commands.doctor:doctor", "Say what this machine can do"),
    "whoami": Registered("sphynx.cli.commands.whoami:whoami", "Show which organization a key acts for"),
    "env list": Registered(
        "sphynx.cli.commands.env:list_", "List the variables and subscriptions of a server"
    ),
    "env set": Registered("sphynx.cli.commands.env:set_", "Store a variable; its value is asked or read"),
    "env import": Registered("sphynx.cli.commands.env:import_", "Store the variables of an env file"),
    "env remove": Registered("sphynx.cli.commands.env:remove", "Remove a variable"),
    "batches list": Registered("sphynx.cli.commands.batches:list_", "List the batches of a server"),
    "batches get": Registered("sphynx.cli.commands.batches:get", "Show a batch of a server"),
    "batches link": Registered(
        "sphynx.cli.commands.batches:link", "Print a link to a batch that needs no key"
    ),
    "batches cancel": Registered("sphynx.cli.commands.batches:cancel", "Cancel a batch of one's own server"),
    "statistics": Registered(
        "sphynx.cli.commands.statistics:statistics", "Pass rates, money and time on one's own server"
    ),
    "cases list": Registered("sphynx.cli.commands.cases:list_", "List the cases of a server"),
    "cases get": Registered("sphynx.cli.commands.cases:get", "Show a case and its history"),
    "case run": Registered("sphynx.cli.commands.cases:run", "Run a stored case again"),
    "runs list": Registered("sphynx.cli.commands.runs:list_", "List the runs of a case"),
    "runs get": Registered("sphynx.cli.commands.runs:get", "Show a run and its trials"),
    "prompts list": Registered("sphynx.cli.commands.prompts:list_", "List the prompts of a server"),
    "prompts get": Registered("sphynx.cli.commands.prompts:get", "Print a prompt"),
    "prompts create": Registered(
        "sphynx.cli.commands.prompts:create", "Create a prompt from a file or stdin"
    ),
    "prompts update": Registered("sphynx.cli.commands.prompts:update", "Add a version to a prompt"),
    "prompts promote": Registered("sphynx.cli.commands.prompts:promote", "Point a channel at a version"),
    "serve": Registered("sphynx.cli.commands.serve:serve", "Run a server of one's own"),
    "worker": Registered("sphynx.cli.commands.serve:worker", "Run trials for a server on Postgres"),
    "admin create-org": Registered("sphynx.cli.commands.admin:create_org", "Make an organization"),
    "admin create-key": Registered("sphynx.cli.commands.admin:create_key", "Make an API key; shown once"),
    "admin list-keys": Registered("sphynx.cli.commands.admin:list_keys", "List API keys"),
    "admin revoke-key": Registered("sphynx.cli.commands.admin:revoke_key", "Stop an API key from working"),
    "admin add-subscription": Registered(
        "sphynx.cli.commands.admin:add_subscription", "Store an agent's login from stdin"
    ),
    "admin rotate-key": Registered("sphynx.cli.commands.admin:rotate_key", "Seal all secrets with a new key"),
    "admin backup": Registered("sphynx.cli.commands.admin:backup", "Copy a SQLite store while it is in use"),
}


def group_help(arguments: Sequence[str]) -> str | None:
    """The commands of a group that was named alone, such as ``sphynx env``; ``None`` for anything else."""
    if not arguments or arguments[0] in COMMANDS or arguments[1:] not in ([], ["--help"], ["-h"]):
        return None
    word = arguments[0]
    own = {name: command.help for name, command in COMMANDS.items() if name.startswith(f"{word} ")}
    if not own:
        return None
    room = max(map(len, own)) + 2
    lines = [f"  {name:<{room}}{text}" for name, text in own.items()]
    head = f"Usage: {PROGRAM} {word} COMMAND [OPTIONS]"
    return "\n".join([head, "", "Commands:", *lines, "", f"{PROGRAM} {word} COMMAND --help says more", ""])


class _LazyGroup(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # Commands of two words stand beside those of one: `eval import FILE` and `eval PATH`.
        name = " ".join(args[:2])
        if name in COMMANDS and " " in name:
            return name, load_command(name), args[2:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


def build() -> Any:
    """The whole command line as one click group. A command's module is imported when it is named."""
    app = typer.Typer(
        name=PROGRAM, cls=_LazyGroup, add_completion=False, rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        help="Evals of coding agents: run the real agent on your cases, gate on a result you can trust.",
        epilog="Exit codes: 0 gate passed, 2 gate failed, 1 error, 130 interrupted, 143 terminated.",
    )  # fmt: skip

    @app.callback(invoke_without_command=True)
    def root(
        context: typer.Context,
        version: bool = typer.Option(False, "--version", "-V", help="Print the version"),
        completions: str = typer.Option("", metavar="SHELL", help="Print completions for zsh, bash or fish"),
        debug: bool = typer.Option(False, "--debug", help="Show tracebacks of errors"),
    ) -> None:
        if version:
            sys.stdout.write(f"{PROGRAM} {__version__}\n")
        elif completions:
            from sphynx.cli.completions import script

            sys.stdout.write(script(completions))
        elif context.invoked_subcommand is None:
            sys.stdout.write(context.get_help() + "\n")

    return typer.main.get_command(app)


def load_command(name: str) -> Any:
    """Import one command and build its parser."""
    target, help_line = COMMANDS[name]
    module, _, attribute = target.partition(":")
    app = typer.Typer(
        add_completion=False, rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )  # fmt: skip
    app.command(name=name, short_help=help_line)(getattr(importlib.import_module(module), attribute))
    return typer.main.get_command(app)
