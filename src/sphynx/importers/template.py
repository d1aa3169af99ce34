"""Write an imported suite as the Python file a person goes on with."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Iterator

from sphynx.importers.imported import Imported, ImportedCase, Line

MODEL = "gpt-5.6-sol"
CALLS = ("contains_all", "contains_any", "contains_none")
_UNWRITTEN = '''\
def unwritten(what: str) -> bool:
    """A check nobody has written yet: it fails."""
    return False
'''


def render(imported: Imported) -> str:
    """The text of a ``*_eval.py``. It runs as it is, and fails where a check is still to be written."""
    lines = [line for case in imported.cases for line in case.lines]
    calls = [name for name in CALLS if any(line.call == name for line in lines)]
    placeholder = imported.always_placeholder or any(not line.call for line in lines)
    head = [f"{_text(f'Imported from {imported.origin}. Review it before you trust it.', triple=True)}\n"]
    head.append("from sphynx import Context, case, files, suite, variant")
    if calls:
        head.append(f"from sphynx.validators import {', '.join(calls)}")
    parts = ["\n".join(head) + "\n"]
    if placeholder:
        parts.append(_UNWRITTEN)
    names = _names(imported)
    parts += [_check(case, names[case.id]) for case in imported.cases]
    parts.append(_suite(imported, names))
    return "\n\n".join(parts)


def skill_file(
    folder: str, evals: str, *, name: str, agent: str, judge: str, arms: Iterable[str], skip_invalid: bool
) -> str:
    """The text of a ``*_eval.py`` that runs a skill's evals with a judge for prose."""
    fields = [
        f"    {_text(folder)},",
        f"    evals={_text(evals)},",
        f"    agents=[{_text(agent)}],",
        f"    arms=[{', '.join(_text(arm) for arm in arms)}],",
        f"    judge={_text(judge)},",
        "    trials=3,",
    ]
    if skip_invalid:
        fields.append("    skip_invalid=True,")
    body = "\n".join(fields)
    return f"from sphynx import skill_suite\n\n{python_name(name)} = skill_suite(\n{body}\n)\n"


def _check(case: ImportedCase, name: str) -> str:
    body = [f"async def {name}(ctx: Context) -> bool:", "    answer = await ctx.answer()"]
    if not case.lines:
        body.append("    # Nothing to check was imported: this passes whatever the agent does.")
    if all(not line.call for line in case.lines):
        body[1:2] = []
    body += ["    return all(", "        ["]
    for line in case.lines:
        body += _assertion(line)
    return "\n".join([*body, "        ]", "    )", ""])


def _assertion(line: Line) -> Iterator[str]:
    pad = " " * 12
    if line.call:
        yield from (f"{pad}{text}" for text in _comment(line.text))
        needles = ", ".join(_text(needle) for needle in line.needles)
        yield f"{pad}{line.call}(answer, [{needles}]),"
        return
    yield f"{pad}# Write this check, then delete the line under it:"
    yield from (f"{pad}{text}" for text in _comment(line.text))
    yield f"{pad}unwritten({_text(line.text)}),"


def _suite(imported: Imported, names: dict[str, str]) -> str:
    out = [
        f"{python_name(imported.suite_id)} = suite(",
        f"    id={_text(imported.suite_id)},",
        f"    name={_text(imported.suite_id)},",
        '    prompt="{{task}}",',
        "    trials=3,",
        "    cases=[",
    ]
    for case in imported.cases:
        out.append("        case(")
        out += [f"            id={_text(case.id)},", f"            name={_text(case.name)},"]
        for comment in case.comments[:-1]:
            out += [f"            {text}" for text in _comment(comment)]
        out.append(f'            variables={{"task": {_text(case.task)}}},')
        out += [f"            {text}" for text in _comment(case.comments[-1])] if case.comments else []
        out += ["            source=files({}),", f"            validate={names[case.id]},", "        ),"]
    out += [
        "    ],",
        "    # The agents to compare: a harness, a model, and where it runs.",
        f'    variants=[variant(harness="codex", model="{MODEL}")],',
        ")",
        "",
    ]
    return "\n".join(out)


def _names(imported: Imported) -> dict[str, str]:
    """A function name per case, each once."""
    taken = {python_name(imported.suite_id), "suite", "case", "files", "variant", "unwritten", *CALLS}
    names: dict[str, str] = {}
    for case in imported.cases:
        name = stem = f"check_{python_name(case.id).rstrip('_')}"
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names[case.id] = name
    return names


def python_name(text: str) -> str:
    """A module-level name made of a handle."""
    name = re.sub(r"\W+", "_", text, flags=re.A).strip("_") or "imported"
    if name[0].isdigit() or keyword.iskeyword(name) or name in ("suite", "case", "variant", "files"):
        name = f"imported_{name}"
    return name


def _text(value: str, *, triple: bool = False) -> str:
    """A Python literal. JSON's escapes are all Python's too."""
    text = json.dumps(value, ensure_ascii=False)
    return f'""{text}""' if triple else text


def _comment(text: str) -> Iterator[str]:
    """Lines of a comment. Nothing in the text can end it."""
    for line in text.splitlines() or [""]:
        clean = "".join(sign if sign.isprintable() else " " for sign in line).strip()
        yield f"# {clean}".rstrip()
