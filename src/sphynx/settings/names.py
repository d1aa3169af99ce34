"""Environment variables by name: which are known, what they are for, and how they may be shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

NAME_LIMIT = 128
VALUE_LIMIT = 32_768
RESERVED = "SPHYNX_"
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASS", "AUTH", "CREDENTIAL", "PRIVATE")

_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
_LABEL = r"[a-z0-9-]+"
_ADDRESS = re.compile(
    rf"(?:https?://{_LABEL}(?:\.{_LABEL})*|{_LABEL}(?:\.{_LABEL})+)(?::\d{{2,5}})?/?",
    re.IGNORECASE | re.ASCII,
)
_SHOWN_PLAIN = 64
_SHOWN_SECRET_FROM = 20
_DOT = "•"


@dataclass(frozen=True, slots=True)
class KnownName:
    """A variable the product picks up on its own.

    ``uses`` read ``kind:what``: ``harness:codex``, ``judge:openai``, ``simulated:people``, ``sandbox:e2b``.
    """

    name: str
    uses: tuple[str, ...]
    labels: tuple[str, ...]
    secret: bool = True
    optional: bool = False

    @property
    def used_by(self) -> str:
        """What it is for, for people: ``Codex, Judges, Simulated people``."""
        return ", ".join(dict.fromkeys(self.labels))

    @property
    def for_harness(self) -> str | None:
        """The harness that runs on it."""
        return next((use.partition(":")[2] for use in self.uses if use.startswith("harness:")), None)


_JUDGES = "Judges"
_PEOPLE = "Simulated people"


def _harness(name: str, harness: str, label: str, judge: str = "", *, person: bool = False) -> KnownName:
    uses, labels = [f"harness:{harness}"], [label]
    if judge:
        uses.append(f"judge:{judge}")
        labels.append(_JUDGES)
    if person:
        uses.append("simulated:people")
        labels.append(_PEOPLE)
    return KnownName(name, tuple(uses), tuple(labels))


def _model(name: str, judge: str) -> KnownName:
    return KnownName(name, (f"judge:{judge}", "simulated:people"), (_JUDGES, _PEOPLE))


def _sandbox(
    name: str, sandbox: str, label: str, *, secret: bool = True, optional: bool = False
) -> KnownName:
    return KnownName(name, (f"sandbox:{sandbox}",), (label,), secret, optional)


_TABLE: tuple[KnownName, ...] = (
    _harness("ANTHROPIC_API_KEY", "claude", "Claude Code", "anthropic", person=True),
    _harness("OPENAI_API_KEY", "codex", "Codex", "openai", person=True),
    _harness("AI_GATEWAY_API_KEY", "fx", "FX"),
    _harness("GEMINI_API_KEY", "gemini", "Gemini CLI", "google", person=True),
    _harness("CURSOR_API_KEY", "cursor", "Cursor"),
    _harness("DASHSCOPE_API_KEY", "qwen", "Qwen Code"),
    KnownName("QWEN_BASE_URL", ("harness:qwen",), ("Qwen Code",), secret=False, optional=True),
    _model("XAI_API_KEY", "xai"),
    _model("MOONSHOT_API_KEY", "moonshotai"),
    _model("DEEPSEEK_API_KEY", "deepseek"),
    _model("GROQ_API_KEY", "groq"),
    _model("OPENROUTER_API_KEY", "openrouter"),
    KnownName("TYPESAFE_API_KEY", ("judge:typesafe",), (_JUDGES,)),
    _sandbox("DAYTONA_API_KEY", "daytona", "Daytona sandboxes"),
    _sandbox("E2B_API_KEY", "e2b", "E2B sandboxes"),
    _sandbox("UPSTASH_BOX_API_KEY", "upstash", "Upstash Box sandboxes"),
    _sandbox("MODAL_TOKEN_ID", "modal", "Modal sandboxes"),
    _sandbox("MODAL_TOKEN_SECRET", "modal", "Modal sandboxes"),
    _sandbox("CLOUDFLARE_API_TOKEN", "cloudflare", "Cloudflare sandboxes"),
    _sandbox("CLOUDFLARE_SANDBOX_API_KEY", "cloudflare", "Cloudflare sandboxes", optional=True),
    _sandbox("CLOUDFLARE_ACCOUNT_ID", "cloudflare", "Cloudflare sandboxes", secret=False, optional=True),
    _sandbox("CLOUDFLARE_SANDBOX_URL", "cloudflare", "Cloudflare sandboxes", secret=False, optional=True),
    _sandbox("VERCEL_TOKEN", "vercel", "Vercel sandboxes"),
    _sandbox("VERCEL_TEAM_ID", "vercel", "Vercel sandboxes", secret=False),
    _sandbox("VERCEL_PROJECT_ID", "vercel", "Vercel sandboxes", secret=False),
)
KNOWN: Mapping[str, KnownName] = {known.name: known for known in _TABLE}
"""Every known name, in the order the product lists them."""


def used_by(name: str) -> str:
    """What a variable is for, for people; a name of one's own is for ``your code``."""
    return KNOWN[name].used_by if name in KNOWN else "your code"


def name_problem(name: str) -> str | None:
    """What is wrong with a variable's name; ``None`` when it may be set."""
    if _NAME.fullmatch(name) is None:
        return "must be capital letters, digits and underscores, and not start with a digit"
    if len(name) > NAME_LIMIT:
        return f"must be at most {NAME_LIMIT} characters, it has {len(name)}"
    if name.startswith(RESERVED):
        return f"must not start with {RESERVED}: those names are reserved"
    return None


def value_problem(value: str) -> str | None:
    """What is wrong with a variable's value; ``None`` when it may be set."""
    if not value:
        return "must not be empty"
    if len(value) > VALUE_LIMIT:
        return f"must be at most {VALUE_LIMIT:,} characters, it has {len(value):,}"
    return None


def profile_problem(name: str) -> str | None:
    """Why a profile may not name this variable; ``None`` when it may."""
    known = KNOWN.get(name)
    if known is not None and known.for_harness is None:
        return f"belongs to {known.used_by.lower()} and never reaches a profile"
    return name_problem(name)


def secret_by_default(name: str, value: str) -> bool:
    """Whether an imported variable is a secret when nobody says.

    A known name has its own answer. Any other is one unless its name has no secret word in it and its value
    is a bare address.
    """
    if name in KNOWN:
        return KNOWN[name].secret
    if any(word in name.upper() for word in SECRET_WORDS):
        return True
    return _ADDRESS.fullmatch(value.strip()) is None


def secret_values(env: Mapping[str, str]) -> Iterator[str]:
    """The values of ``env`` that redaction should know: those that are secret by default."""
    return (value for name, value in env.items() if secret_by_default(name, value))


def preview(value: str, *, secret: bool) -> str:
    """How a stored value is shown: a plain one up to 64 characters, of a secret at most its last four."""
    if not secret:
        return value if len(value) <= _SHOWN_PLAIN else value[:_SHOWN_PLAIN] + "…"
    return _DOT * 8 if len(value) < _SHOWN_SECRET_FROM else _DOT * 4 + value[-4:]
