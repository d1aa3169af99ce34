"""Read an evals file: every shape in use, with one rule for each ambiguous point."""

# pyright: basic
# The values are other people's JSON: their types are looked at where they are used.
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sphynx.suite.skills.cases import CaseReader, has_prompt
from sphynx.suite.skills.json_places import Document, JsonError, Path, parse
from sphynx.suite.skills.model import EvalCase, EvalFile, Finding, slug
from sphynx.suite.skills.report import Findings

LISTS = ("evals", "cases", "test_cases", "tests", "queries")
TRIGGER_LISTS = ("should_trigger", "should_not_trigger")
_ABOUT = frozenset(
    {"skill_name", "skill", "name", "version", "description", "notes", "note", "schema_version", "_comment"}
)


def read_evals(
    text: str, *, fallback: str = "evals", skill_name: str = "", skip_invalid: bool = False
) -> EvalFile:
    """Read the text of an evals file. Never raises: what is wrong is in ``EvalFile.findings``.

    The suite's id is the handle of ``skill_name`` (the skill's own name, when known), else the file's
    ``skill_name`` or ``skill``, else ``fallback``. One bad case refuses the whole file unless
    ``skip_invalid``.
    """
    try:
        document = parse(text)
    except JsonError as error:
        message = f"not valid JSON: {error.message} (line {error.place.line}, column {error.place.column})"
        return EvalFile(slug(fallback, "evals"), "", (), (Finding("error", message, error.place),))
    said = _said_name(document.value)
    suite = slug(skill_name, "") or slug(said, "") or slug(fallback, "evals")
    return _Reader(document, suite[:60].rstrip("-"), said).read(skip_invalid)


def _said_name(value: Any) -> str:
    if isinstance(value, dict):
        for key in ("skill_name", "skill"):
            if isinstance(value.get(key), str):
                return value[key].strip()
    return ""


class _Reader:
    def __init__(self, document: Document, suite: str, said: str) -> None:
        self.document = document
        self.suite = suite
        self.said = said
        self.say = Findings(document)
        self.cases = CaseReader(suite, self.say)

    def read(self, skip_invalid: bool) -> EvalFile:
        total = 0
        read: list[EvalCase] = []
        for number, (item, path, prefix, place) in enumerate(self._items(), 1):
            total = number
            self.say.case = number
            case = self.cases.read(item, path, number=place, prefix=prefix)
            if case is not None and not self.say.failed(number):
                read.append(case)
        self.say.case = 0
        if total == 0 and not self.say.found:
            self.say.error("the list of cases (evals) is empty", ())
        findings = self.say.finish()
        bad = sorted({found.case for found in findings if found.level == "error"})
        if bad and (0 in bad or not skip_invalid):
            read = []
        return EvalFile(self.suite, self.said, tuple(read), findings, tuple(n for n in bad if n), total)

    def _items(self) -> Iterator[tuple[Any, Path, str, int]]:
        """Every case: the item, its path, the name of its list when it is a second one, its position."""
        value = self.document.value
        if isinstance(value, list):
            yield from ((item, (n,), "", n + 1) for n, item in enumerate(value))
            return
        if not isinstance(value, dict):
            self.say.error("the file must be an object with a list of cases (evals), or a list", ())
            return
        found = False
        main = next((key for key in LISTS if key in value), None)
        if main is not None:
            found = True
            yield from self._main(main, value[main])
        for key, item in value.items():
            if key == main or key in _ABOUT:
                continue
            extra = list(self._other(key, item, value))
            found = found or bool(extra) or key in TRIGGER_LISTS
            yield from extra
        if not found:
            self.say.error("there is no list of cases: evals is missing", ())

    def _main(self, key: str, items: Any) -> Iterator[tuple[Any, Path, str, int]]:
        if not isinstance(items, list):
            self.say.error(f"{key} must be a list of cases", (key,))
            return
        yield from ((item, (key, n), "", n + 1) for n, item in enumerate(items))

    def _other(self, key: str, item: Any, around: Mapping[str, Any]) -> Iterator[tuple[Any, Path, str, int]]:
        if key in TRIGGER_LISTS and isinstance(item, list):
            yield from self._queries(key, item, (key,), "", None)
        elif isinstance(item, dict) and any(isinstance(item.get(name), list) for name in TRIGGER_LISTS):
            for name in TRIGGER_LISTS:
                if isinstance(item.get(name), list):
                    yield from self._queries(name, item[name], (key, name), slug(key), key)
        elif isinstance(item, list) and any(isinstance(one, dict) and has_prompt(one) for one in item):
            prefix = slug(key, "more")
            yield from ((one, (key, n), prefix, n + 1) for n, one in enumerate(item))
        else:
            self.say.unread(key)

    def _queries(
        self, name: str, items: list[Any], path: Path, prefix: str, skill: str | None
    ) -> Iterator[tuple[Any, Path, str, int]]:
        wanted: Any = name == "should_trigger"
        if wanted and skill:
            wanted = skill
        tag = "-".join(part for part in (prefix, "yes" if wanted else "no") if part)
        for n, one in enumerate(items):
            item = dict(one) if isinstance(one, dict) else {"query": one}
            yield {**item, "should_trigger": wanted}, (*path, n), tag, n + 1
