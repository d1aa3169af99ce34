"""The shell recorder: which commands the agent's shells ran, one line each.

:data:`SCRIPT` goes into a file that ``BASH_ENV`` names, so every non-interactive bash sources it. Every zsh
does too when ``ZDOTDIR`` names the folder of :data:`FILES`. With ``SPHYNX_TRACE_LOG`` set, its ``DEBUG`` trap
appends::

    {"at": "2026-11-30T22:38:12Z", "cwd": "/w", "argv": "cat \\"a b\\" > c", "source": "trap"}

before each command. ``at`` is UTC with seconds; exit codes are not known then. Functions, subshells and
command substitutions count as the one command that called them, unless the script sets ``functrace``.
"""

from __future__ import annotations

import json
from typing import Any

SCRIPT = r"""# sphynx recorder: one line per command into $SPHYNX_TRACE_LOG, from a DEBUG trap of bash or zsh.
# Builtins only: a fork per command would cost more than the commands of most agents. It must not change
# what the script sees: not $?, $_, set -e, set -u, set -x, IFS, functions called printf, or the time zone.
# What outlives a call is in arrays, because set -a would export anything else to every child.
if [[ -n ${SPHYNX_TRACE_LOG-} && ${__sx_on-} != "$$" ]]; then
__sx_on=($$)
if [[ $SPHYNX_TRACE_LOG == */* && ! -d ${SPHYNX_TRACE_LOG%/*} ]]; then
  command mkdir -p -- "${SPHYNX_TRACE_LOG%/*}" 2>/dev/null || :
fi
# In pieces and as bytes: bash needs quadratic time to replace in one long text, and more in UTF-8.
__sx_esc() {
  __sx_r=$1
  case $1 in *[\\\"$'\t\n\r']*) ;; *) return 0 ;; esac
  local b='\' q='"' t=$'\t' n=$'\n' r=$'\r' from=0 piece LC_ALL=C
  __sx_r=
  while [[ $from -lt ${#1} ]]; do
    piece=${1:$from:2000}
    piece=${piece//"$b"/"$b$b"}
    piece=${piece//"$q"/"$b$q"}
    piece=${piece//"$t"/"${b}t"}
    piece=${piece//"$n"/"${b}n"}
    piece=${piece//"$r"/"${b}r"}
    __sx_r+=$piece
    from=$((from + 2000))
  done
}
if [[ -n ${ZSH_VERSION-} ]]; then
  __sx_now() { local TZ=UTC0 __sx_f='%D{%Y-%m-%dT%H:%M:%SZ}'; __sx_at=${(%)__sx_f}; }
elif [[ ${BASH_VERSINFO[0]} -ge 5 ]]; then
  __sx_now() {
    if [[ $EPOCHSECONDS != "${__sx_c[0]-}" ]]; then
      __sx_c=("$EPOCHSECONDS")
      TZ=UTC0 builtin printf -v '__sx_c[1]' '%(%Y-%m-%dT%H:%M:%SZ)T' "${__sx_c[0]}"
    fi
    __sx_at=${__sx_c[1]}
  }
elif [[ ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 2 ]]; then
  __sx_now() { TZ=UTC0 builtin printf -v __sx_at '%(%Y-%m-%dT%H:%M:%SZ)T' -1; }
else
  __sx_now() { __sx_at=$(TZ=UTC0 command date '+%Y-%m-%dT%H:%M:%SZ') || :; }
fi
__sx_rec() {
  case $1 in __sx_*) return 0 ;; esac
  [[ -z ${__sx_busy-} ]] || return 0
  local __sx_busy=1 __sx_at __sx_r __sx_cwd
  __sx_now
  __sx_esc "$PWD"
  __sx_cwd=$__sx_r
  __sx_esc "$1"
  builtin printf '{"at":"%s","cwd":"%s","argv":"%s","source":"trap"}\n' "$__sx_at" "$__sx_cwd" "$__sx_r" \
    >>"$SPHYNX_TRACE_LOG" || :
  : "$2"
}
if [[ -n ${ZSH_VERSION-} ]]; then
  trap '{ __sx_rec "$ZSH_DEBUG_CMD" "$_"; } 2>/dev/null' DEBUG
else
  trap '{ __sx_rec "$BASH_COMMAND" "$_"; } 2>/dev/null' DEBUG
fi
fi
"""

NAME = "trace.sh"
"""What ``BASH_ENV`` names; the other :data:`FILES` are looked for beside it."""

# A zsh with our ZDOTDIR reads these in place of the user's own files, which each sources first. The recorder
# comes with the last file such a shell reads, so that lines of startup files are not taken for commands.
_OWN = """[[ ! -r ~/%s ]] || source ~/%s
"""
_HERE = """[[ %s ]] || source "${${(%%):-%%x}:A:h}/trace.sh"
"""

FILES = {
    ".zshenv": _OWN % (".zshenv", ".zshenv") + _HERE % "-o login || -o interactive",
    ".zprofile": _OWN % (".zprofile", ".zprofile"),
    ".zshrc": _OWN % (".zshrc", ".zshrc") + _HERE % "-o login",
    ".zlogin": _OWN % (".zlogin", ".zlogin") + _HERE % "! -o login",
    NAME: SCRIPT,
}
"""One folder's files by name, the script last: where it is, the others are too."""


def read_trace(text: str) -> list[tuple[int, str]]:
    """The commands of a trace log in order: epoch milliseconds and text. What is no such line is left out.

    Lines may be broken (two shells wrote long ones at once, an agent scribbled into the file) and commands
    may hold control characters that strict JSON would not allow.
    """
    found: list[tuple[int, str]] = []
    for line in text.split("\n"):
        try:
            entry = json.loads(line, strict=False)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict):
            continue
        at, command = _millis(entry.get("at")), entry.get("argv")
        if at is not None and isinstance(command, str) and command.strip():
            found.append((at, command))
    return found


def _millis(at: Any) -> int | None:
    from datetime import UTC, datetime

    if not isinstance(at, str):
        return None
    try:
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
