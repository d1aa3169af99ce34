"""Completion scripts for zsh, bash and fish, written from the commands themselves."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from sphynx.cli.app import COMMANDS, PROGRAM, load_command
from sphynx.errors import UsageError


class _Option(NamedTuple):
    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]


def script(shell: str) -> str:
    """The script for ``shell``; ``UsageError`` for any other shell."""
    writers = {"zsh": _zsh, "bash": _bash, "fish": _fish}
    if shell not in writers:
        raise UsageError(f'no completions for "{shell}"', hint="there are: zsh, bash, fish")
    return writers[shell](_by_first_word())


def _by_first_word() -> dict[str, list[_Option]]:
    """The options after each first word: those of a command of two words are added to it."""
    found: dict[str, list[_Option]] = {}
    for name in COMMANDS:
        options = found.setdefault(name.partition(" ")[0], [])
        options += [option for option in _options(load_command(name)) if option not in options]
    return found


def _about(word: str) -> str:
    """A line about what begins with this word."""
    if word in COMMANDS:
        return COMMANDS[word].help
    return ", ".join(name.partition(" ")[2] for name in COMMANDS if name.partition(" ")[0] == word)


def _options(command: Any) -> list[_Option]:
    found: list[_Option] = []
    for param in command.params:
        names = tuple(name for name in param.opts if name.startswith("-"))
        if names and not param.hidden:
            # Where the choices stand differs between typer releases; an enum as default is in all of them.
            kind = type(param.default) if isinstance(param.default, Enum) else None
            choices = tuple(str(item.value) for item in kind) if kind else ()
            takes = not getattr(param, "is_flag", False)
            found.append(_Option(names, " ".join((param.help or "").split()), takes, choices))
    return [*found, _Option(("-h", "--help"), "Show the help", False, ())]


def _bash(commands: dict[str, list[_Option]]) -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(n for option in options for n in option.names)}" ;;'
        for name, options in commands.items()
    )
    values = "\n".join(
        f"    {'|'.join(option.names)})\n"
        f'      COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current")); return ;;'
        for option in _with_choices(commands)
    )
    return f"""_{PROGRAM}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version --completions" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  if [ "${{current:0:1}}" = "-" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -F _{PROGRAM} {PROGRAM}
"""


def _zsh(commands: dict[str, list[_Option]]) -> str:
    names = "\n".join(f"    {_quote(f'{name}:{_about(name)}')}" for name in commands)
    cases = "\n".join(
        f"    {name}) _arguments -s {' '.join(_zsh_option(option) for option in options)} '*:file:_files' ;;"
        for name, options in commands.items()
    )
    return f"""#compdef {PROGRAM}
_{PROGRAM}() {{
  local -a commands
  commands=(
{names}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
{cases}
  esac
}}
compdef _{PROGRAM} {PROGRAM}
"""


def _zsh_option(option: _Option) -> str:
    note = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    return " ".join(_quote(f"{name}[{note}]{value}") for name in option.names)


def _fish(commands: dict[str, list[_Option]]) -> str:
    lines = [
        f"complete -c {PROGRAM} -n __fish_use_subcommand -f -a {name} -d {_quote(_about(name))}"
        for name in commands
    ]
    for name, options in commands.items():
        for option in options:
            flags = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = ""
            if option.takes_value:
                value = f" -x -a {_quote(' '.join(option.choices))}" if option.choices else " -r"
            note = _quote(option.help)
            lines.append(
                f"complete -c {PROGRAM} -n '__fish_seen_subcommand_from {name}' {flags}{value} -d {note}"
            )
    return "\n".join(lines) + "\n"


def _with_choices(commands: dict[str, list[_Option]]) -> list[_Option]:
    found = {option.names: option for options in commands.values() for option in options if option.choices}
    return list(found.values())


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
