"""Read and run one command line of a CLI mock."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from sphynx.guest.mocks import calls
from sphynx.guest.mocks.calls import CallFailed
from sphynx.mocks.cli import Cli, Command
from sphynx.mocks.handling import Runtime

Outcome = tuple[int, str, str]
"""Exit code, standard output, standard error."""


async def run(
    cli: Cli, arguments: Sequence[str], runtime: Runtime, report: Callable[[dict[str, Any]], None]
) -> Outcome:
    """What ``cli arguments...`` does. Help, version and commands that do not exist are not logged."""
    if not arguments or arguments[0] in ("--help", "-h"):
        return 0, root_help(cli), ""
    if arguments[0] in ("--version", "-v"):
        return 0, f"{cli.get('version', '0.0.0')}\n", ""
    command = _longest(cli, arguments)
    if command is None:
        said = " ".join(arguments)
        return 1, "", f"{cli.label}: unknown command: {said}\nsee {cli.label} --help\n"
    rest = arguments[len(command.words) :]
    if rest and rest[0] in ("--help", "-h"):
        return 0, command_help(cli, command), ""
    given, wrong = read_options(command, rest)
    record = {"cli": cli.label, "command": command.label}
    if wrong:
        report({**record, "input": given, "error": wrong, "logs": []})
        return 1, "", f"{cli.label} {command.label}: {wrong}\n"
    try:
        value = await calls.run(
            command, given, record, runtime, report, adapter=command.input, output=command.output
        )
    except CallFailed as failed:
        return 1, "", f"{failed}\n"
    return 0, json.dumps(value, ensure_ascii=False, indent=2) + "\n", ""


def _longest(cli: Cli, arguments: Sequence[str]) -> Command | None:
    found = [command for command in cli.commands if tuple(arguments[: len(command.words)]) == command.words]
    return max(found, key=lambda command: len(command.words), default=None)


def read_options(command: Command, rest: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The input as far as it was read, and what is wrong with the options."""
    known = {option.flag: option for option in command.options}
    given: dict[str, Any] = {}
    words = iter(rest)
    for word in words:
        flag, equals, value = word.partition("=")
        option = known.get(flag)
        if option is None:
            if not word.startswith("-"):
                return given, f"takes no positional arguments: {word}"
            return given, f"unknown option {flag}"
        if option.key in given:
            return given, f"{flag} was given more than once"
        if option.boolean:
            if equals:
                return given, f"{flag} takes no value"
            given[option.key] = True
            continue
        following = value if equals else next(words, None)
        if following is None or (not equals and following.partition("=")[0] in known):
            return given, f"{flag} needs a value"
        given[option.key] = following
    return given, ""


def root_help(cli: Cli) -> str:
    """What ``<cli> --help`` prints."""
    lines = [f"Usage: {cli.label} <command> [options]"]
    if cli.get("description"):
        lines = [str(cli.get("description")), "", *lines]
    rows = [(command.label, str(command.get("description", ""))) for command in cli.commands]
    lines += ["", "Commands:", *_columns(rows)]
    lines += [
        "",
        "Options:",
        *_columns([("-h, --help", "show this help"), ("-v, --version", "show the version")]),
    ]
    return "\n".join(lines) + "\n"


def command_help(cli: Cli, command: Command) -> str:
    """What ``<cli> <command> --help`` prints."""
    required = set(command.input.json_schema().get("required") or [])
    rows = [
        (
            option.flag if option.boolean else f"{option.flag} <value>",
            option.description + (" (required)" if option.key in required else ""),
        )
        for option in command.options
    ]
    lines = [f"Usage: {cli.label} {command.label}" + (" [options]" if rows else "")]
    if command.get("description"):
        lines = [str(command.get("description")), "", *lines]
    lines += ["", "Options:", *_columns([*rows, ("-h, --help", "show this help")])]
    return "\n".join(lines) + "\n"


def _columns(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(left) for left, _ in rows)
    return [f"  {left.ljust(width)}  {right}".rstrip() for left, right in rows]
