"""Completion scripts for zsh, bash and fish, written from the commands themselves."""

from __future__ import annotations

import importlib
from enum import Enum
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

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
        options += [option for option in _options(name) if option not in options]
    return found


def _seconds() -> dict[str, dict[str, str]]:
    """The second words after each first word that has some, with what they do."""
    found: dict[str, dict[str, str]] = {}
    for name, command in COMMANDS.items():
        first, _, second = name.partition(" ")
        if second:
            found.setdefault(first, {})[second] = command.help
    return found


def _about(word: str) -> str:
    """A line about what begins with this word."""
    if word in COMMANDS:
        return COMMANDS[word].help
    return ", ".join(name.partition(" ")[2] for name in COMMANDS if name.partition(" ")[0] == word)


def _options(name: str) -> list[_Option]:
    command = load_command(name)
    # What a parser keeps of a type differs between typer releases; the function's own hints do not.
    module, _, attribute = COMMANDS[name].target.partition(":")
    hints = get_type_hints(getattr(importlib.import_module(module), attribute))
    found: list[_Option] = []
    for param in command.params:
        names = tuple(option for option in param.opts if option.startswith("-"))
        if names and not param.hidden:
            takes = not getattr(param, "is_flag", False)
            text = " ".join((param.help or "").split())
            found.append(_Option(names, text, takes, _choices(hints.get(param.name)) if takes else ()))
    return [*found, _Option(("-h", "--help"), "Show the help", False, ())]


def _choices(hint: Any) -> tuple[str, ...]:
    """The words a type takes; none when it takes any."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple(str(item.value) for item in hint)
    inner = get_args(hint)
    if get_origin(hint) is Literal:
        return tuple(map(str, inner))
    return next((found for one in inner if (found := _choices(one))), ())


def _bash(commands: dict[str, list[_Option]]) -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(n for option in options for n in option.names)}" ;;'
        for name, options in commands.items()
    )
    seconds = "\n".join(
        f'    {name}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current")) ;;'
        for name, words in _seconds().items()
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
  elif [ "$COMP_CWORD" -eq 2 ]; then
    case "${{COMP_WORDS[1]}}" in
{seconds}
    esac
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
    seconds = "\n".join(
        f"    {name}) second=({' '.join(_quote(f'{word}:{about}') for word, about in words.items())}) ;;"
        for name, words in _seconds().items()
    )
    both = "|".join(name for name in _seconds() if name in COMMANDS)
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
  local -a second
  case "$command" in
{seconds}
  esac
  if (( CURRENT == 2 && $#second )) && [[ "$PREFIX" != -* ]]; then
    _describe 'command' second
    [[ "$command" == ({both}) ]] && _files
    return
  fi
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
    for name, words in _seconds().items():
        files = "" if name in COMMANDS else " -f"
        seen = f"__fish_seen_subcommand_from {name}; and not __fish_seen_subcommand_from {' '.join(words)}"
        lines += [
            f"complete -c {PROGRAM} -n '{seen}'{files} -a {word} -d {_quote(about)}"
            for word, about in words.items()
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
