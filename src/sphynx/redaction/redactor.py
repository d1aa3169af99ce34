"""The secrets of one trial, and everything that must not leave it with them inside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from sphynx.redaction.forms import forms
from sphynx.redaction.noise import DIFF_NOISE, NOISE, has_noise, without_noise
from sphynx.redaction.shapes import redact_shapes
from sphynx.redaction.spans import MARK, Span, View, merged, replaced
from sphynx.redaction.stream import StreamRedactor

if TYPE_CHECKING:
    from sphynx.journal.events import Event

    EventT = TypeVar("EventT", bound=Event)
else:
    EventT = TypeVar("EventT")

MIN_SECRET = 8
"""Known values shorter than this many characters are not looked for: they would hit ordinary words."""

_DEPTH = 200
_EVENT_TEXTS: dict[str, tuple[str, ...]] = {
    "Message": ("text",),
    "Command": ("command", "output"),
    "ToolCall": ("input", "output", "error"),
    "Finished": ("reason",),
}
_EVENT_NAMES: dict[str, tuple[str, ...]] = {
    "Started": ("session_id", "model"),
    "ToolCall": ("call_id", "name", "status"),
}
"""Words of an agent that may look like keys without being any: only known secrets are replaced in them."""


class Redactor:
    """Replaces known secrets, in any of their usual forms, and key-like shapes by ``[redacted]``.

    ``secrets`` are values; blanks around them do not count, and values of fewer than 8 characters are
    ignored. A secret is also found with terminal colour codes or line breaks between its characters.
    Redacting a text twice gives the same as redacting it once. The time is linear in the text.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._forms: tuple[str, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Also look for this value from now on."""
        secret = secret.strip()
        if len(secret) < MIN_SECRET or secret in MARK or secret in self._known:
            return
        self._known.add(secret)
        known = {form for form in forms(secret) if len(form) >= MIN_SECRET and form not in MARK}
        self._forms = tuple(sorted(known.union(self._forms), key=lambda form: (-len(form), form)))

    @property
    def forms(self) -> tuple[str, ...]:
        """Every text looked for, longest first."""
        return self._forms

    def text(self, text: str) -> str:
        """``text`` without secrets; the same object when there are none."""
        if self._forms and text:
            spans = self.known_spans(text)
            if spans:
                text = replaced(text, spans)
        return redact_shapes(text)

    def known(self, text: str) -> str:
        """``text`` without the secrets this redactor knows; what only looks like a key stays."""
        return replaced(text, self.known_spans(text)) if self._forms and text else text

    def diff(self, text: str) -> str:
        """A unified diff without secrets, also those that were broken over lines before they were marked."""
        if self._forms and _holds_any(DIFF_NOISE.sub("", text), self._forms):
            view = View(text, DIFF_NOISE)
            spans = [view.source_span(span) for span in _occurrences(view.text, self._forms)]
            text = replaced(text, merged(spans))
        return self.text(text)

    def known_spans(self, text: str) -> list[Span]:
        """Where known secrets stand in ``text``, ordered and disjoint."""
        spans = list(_occurrences(text, self._forms)) if _holds_any(text, self._forms) else []
        if has_noise(text):
            compact = without_noise(text)
            if len(compact) != len(text) and _holds_any(compact, self._forms):
                view = View(text, NOISE)
                spans += [view.source_span(span) for span in _occurrences(view.text, self._forms)]
        return merged(spans) if spans else spans

    def stream(self) -> StreamRedactor:
        """A redactor for text that arrives in pieces."""
        return StreamRedactor(self)

    def event(self, event: EventT) -> EventT:
        """``event`` with its free texts and paths redacted; the same object when nothing was found.

        In the names Started and ToolCall carry only known secrets are replaced.
        """
        changes: dict[str, Any] = {}
        kind = type(event).__name__
        if kind == "FileChange":
            paths: tuple[str, ...] = event.paths  # type: ignore[union-attr]
            clean = tuple(map(self.text, paths))
            if clean != paths:
                changes["paths"] = clean
        for names, clear in ((_EVENT_TEXTS, self.text), (_EVENT_NAMES, self.known)):
            for name in names.get(kind, ()):
                before: str | None = getattr(event, name)
                if before:
                    after = clear(before)
                    if after is not before:
                        changes[name] = after
        return msgspec.structs.replace(event, **changes) if changes else event

    def value(self, value: Any) -> Any:
        """Plain JSON data with every text in it redacted, names of fields too."""
        return self._value(value, 0)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return MARK if depth > _DEPTH else self._object(value, depth)
        if isinstance(value, list | tuple):
            return MARK if depth > _DEPTH else [self._value(item, depth + 1) for item in value]
        return value

    def _object(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, item in value.items():
            clean = name = self.text(key) if isinstance(key, str) else key
            count = 1
            while clean in result:
                count += 1
                clean = f"{name} {count}"
            result[clean] = self._value(item, depth + 1)
        return result


def _holds_any(text: str, forms: tuple[str, ...]) -> bool:
    # A plain loop: this runs for every text of every event, and any() takes twice as long.
    for form in forms:  # noqa: SIM110
        if form in text:
            return True
    return False


def _occurrences(text: str, forms: tuple[str, ...]) -> Iterator[Span]:
    for form in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form)
            at = text.find(form, at + 1)
