"""``variant()``: the harness, model, sandbox and profile a case runs on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Unpack, cast

from sphynx.errors import Problem
from sphynx.suite import harness_names
from sphynx.suite.caller import caller
from sphynx.suite.fields import Fault, Field, faults_in, flag, mapping, nearest, problem, record, show, text
from sphynx.suite.shapes import ProfileFields, VariantFields

SANDBOXES = ("e2b", "daytona", "upstash", "modal", "cloudflare", "vercel", "local", "docker")
DEFAULT_SANDBOX = "e2b"
_PROFILE_NAME = r"[a-z0-9][a-z0-9-]{0,63}"


def _harness(value: Any) -> Iterator[Fault]:
    if callable(value):
        return
    if not isinstance(value, str):
        yield Fault(f"must be a harness name or a function, not {show(value)}")
    elif not harness_names.is_known(value):
        known = harness_names.known()
        near = nearest(value, known)
        hint = f'did you mean "{near}"?' if near else "there are: " + ", ".join(known)
        yield Fault(f"{show(value)} is not known", hint=hint)


def _sandbox(value: Any) -> Iterator[Fault]:
    if not isinstance(value, str) or value not in SANDBOXES:
        near = nearest(value, SANDBOXES) if isinstance(value, str) else None
        hint = f'did you mean "{near}"?' if near else None
        yield Fault(f"must be one of {', '.join(SANDBOXES)}, not {show(value)}", hint=hint)


def _profile_name(value: Any) -> Iterator[Fault]:
    if not isinstance(value, str) or not re.fullmatch(_PROFILE_NAME, value):
        yield Fault(f"must be lowercase letters, digits and hyphens, at most 64, not {show(value)}")


def _one_of(*allowed: str) -> Callable[[Any], Iterator[Fault]]:
    def check(value: Any) -> Iterator[Fault]:
        if value not in allowed:
            yield Fault(f"must be one of {', '.join(allowed)}, not {show(value)}")

    return check


PROFILE_FIELDS = (
    Field("name", "str", _profile_name, doc="part of the variant's identity", required=True),
    Field("dir", "str", text(low=1), doc="its folder, from the eval file's folder", required=True),
    Field(
        "skill",
        "str | None",
        _one_of("with", "without", "old"),
        doc="dir is an Agent Skill: with it, without it, or as it was at old",
    ),
    Field("old", "str | None", text(low=1), doc="the older skill: a git ref, or a folder such as ./before"),
    Field(
        "use",
        "str | None",
        _one_of("available", "forced"),
        doc="whether the agent is told to use the skill",
        default="available",
    ),
)

VARIANT_FIELDS = (
    Field("harness", "str | Callable[..., Any]", _harness, doc="the agent that does the work", required=True),
    Field("model", "str", text(low=1), doc="the model the harness uses, verbatim", required=True),
    Field("sandbox", "str | None", _sandbox, doc="where each trial runs", default=DEFAULT_SANDBOX),
    Field(
        "profile",
        "ProfileFields | None",
        record(PROFILE_FIELDS, what="a profile"),
        doc="files and settings layered on the harness: a dict with name and dir",
    ),
    Field("harness_version", "str | None", text(low=1, high=100), doc="a version other than the pinned one"),
    Field("image", "str | None", text(low=1, high=300), doc="the container's image, with sandbox docker"),
    Field("bare", "bool | None", flag, doc="Claude only: False runs it in full mode", default="True"),
)


class Variant:
    """What a case runs on. ``sandbox`` is ``None`` when not named (``e2b`` on the wire).

    ``harness`` is a name; for a Python function it is ``python/<name>`` and ``function`` holds it.
    ``options`` holds settings that were given for its harness (``bare``) or its sandbox (``image``).
    """

    __slots__ = (
        "file", "function", "given", "harness", "harness_version", "line", "model", "options", "profile",
        "sandbox",
    )  # fmt: skip

    def __init__(self, given: Mapping[str, object], file: str, line: int) -> None:
        self.given = given
        self.file = file
        self.line = line
        harness = given.get("harness")
        self.function = cast("Callable[..., Any]", harness) if callable(harness) else None
        self.harness = cast(str, harness or "") if self.function is None else f"python/{_name(harness)}"
        self.model = cast(str, given.get("model") or "")
        self.sandbox = cast("str | None", given.get("sandbox"))
        self.profile = cast("ProfileFields | None", mapping(given.get("profile")))
        self.harness_version = cast("str | None", given.get("harness_version"))
        self.options = {name: given[name] for name in ("bare", "image") if given.get(name) is not None}

    def __repr__(self) -> str:
        return f"variant({self.label})"

    @property
    def profile_name(self) -> str | None:
        """The profile's name, when there is one."""
        return None if self.profile is None else self.profile.get("name")

    @property
    def label(self) -> str:
        """``harness/model``, plus ``@`` and the profile's name."""
        plain = f"{self.harness}/{self.model}"
        return plain if self.profile_name is None else f"{plain}@{self.profile_name}"

    @property
    def identity(self) -> tuple[str, str, str, str | None]:
        """What makes two variants the same: harness, model, effective sandbox, profile name."""
        return (self.harness, self.model, self.sandbox or DEFAULT_SANDBOX, self.profile_name)

    def problems(self, where: str) -> Iterator[Problem]:
        """Everything wrong with this variant; ``where`` names it."""
        for fault in (*faults_in(VARIANT_FIELDS, self.given, what="variant()"), *self._together()):
            yield problem(fault, where=where, file=self.file, line=self.line)

    def _together(self) -> Iterator[Fault]:
        if self.harness == "command" and self.given.get("profile") is None:
            hint = 'profile={"name": "mine", "dir": "./profile"}, where profile.json names the command as run'
            yield Fault('is missing, and harness "command" needs one', at="profile", hint=hint)
        if "bare" in self.options and self.harness != "claude":
            yield Fault(f"works with harness claude, not {show(self.harness)}", at="bare")
        if "image" in self.options and self.sandbox != "docker":
            yield Fault("works with sandbox docker only", at="image", hint='sandbox="docker"')


def variant(**fields: Unpack[VariantFields]) -> Variant:
    """A harness and model (and sandbox, profile) to run cases on. Never raises: see ``Suite.problems``."""
    return Variant(cast("Mapping[str, object]", fields), *caller())


def _name(function: object) -> str:
    return str(getattr(function, "__name__", type(function).__name__)).strip("<>")
