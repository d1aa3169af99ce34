"""Writes docs/reference/ from the code: fields of the builders, the command line, the stored records.

    .venv/bin/python scripts/reference.py [--check]

With ``--check`` nothing is written; it fails when a page is not what the code says.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sphynx.cli.app import build
from sphynx.cli.report_schema import json_schema as report_schema
from sphynx.cli.report_schema import junit_xsd
from sphynx.mocks import api, cli, mcp
from sphynx.results.skill_json import json_schema
from sphynx.schema import records
from sphynx.suite import cases, judges, people, suites, variants
from sphynx.suite.fields import Field

PAGES = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- Written by scripts/reference.py from the code. Do not edit. -->\n"


def cell(text: object) -> str:
    """Text that cannot break a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(heads: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "-|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]) + "\n"


def fields_page() -> str:
    """The builders' field tables."""
    parts = [
        NOTE,
        "# Fields\n",
        "What `suite()`, `case()`, `variant()`, `judge()`, `human()` and the mocks' builders take. "
        "Sizes count UTF-16 units.\n",
    ]
    shown: list[tuple[str, tuple[Field, ...]]] = [
        ("suite()", suites.SUITE_FIELDS),
        ("case()", cases.CASE_FIELDS),
        ("a case's cache", cases.CACHE_FIELDS),
        ("variant()", variants.VARIANT_FIELDS),
        ("a variant's profile", variants.PROFILE_FIELDS),
        ("judge()", judges.JUDGE_FIELDS),
        ("human()", people.HUMAN_FIELDS),
    ]
    for title, fields in shown:
        rows: list[list[object]] = [
            [f"`{f.name}`", f"`{f.type}`", "required" if f.required else f.default or "not set", f.doc]
            for f in fields
        ]
        parts += [f"## {title}\n", table(["field", "type", "default", "meaning"], rows)]
    for kind in (mcp.Server, mcp.Tool, mcp.Resource, cli.Cli, cli.Command, api.Api, api.Endpoint):
        rows = [[f"`{f.name}`", "required" if f.required else "not set", f.doc] for f in kind.fields]
        module = kind.__module__.removeprefix("sphynx.")
        parts += [f"## {kind.builder}() of {module}\n", table(["field", "default", "meaning"], rows)]
    return "\n".join(parts)


def option_rows(command: Any) -> list[list[object]]:
    """One row per option or argument that ``--help`` shows."""
    rows: list[list[object]] = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        option = parameter.param_type_name == "option"
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        rows.append(
            [
                f"`{names if option else (parameter.metavar or str(parameter.name).upper())}`",
                parameter.help or "",
            ]
        )
    return rows


def cli_page() -> str:
    """Every command with its options, as ``--help`` knows them."""
    root = build()
    parts = [NOTE, "# Command line\n", table(["option", "meaning"], option_rows(root))]
    for name in root.list_commands(None):
        command = root.get_command(None, name)
        parts += [f"## sphynx {name}\n", " ".join((command.help or "").split()) + "\n"]
        parts += [table(["argument or option", "meaning"], option_rows(command))]
    return "\n".join(parts)


def attribute_docs(model: type[BaseModel]) -> dict[str, str]:
    """The string that follows an attribute in the class body."""
    tree = ast.parse(inspect.getsource(model).strip())
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found: dict[str, str] = {}
    for before, after in itertools.pairwise(body):
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
            value: Any = getattr(after, "value", None)
            if isinstance(after, ast.Expr) and isinstance(value, ast.Constant):
                found[before.target.id] = str(value.value)
    return found


def records_page() -> str:
    """The shapes of ``batch.json`` and ``trial.json``."""
    parts = [
        NOTE,
        "# Records\n",
        "The files of a batch folder. Keys are camelCase; unknown values are `null`.\n",
    ]
    shown = [
        records.BatchRecord,
        records.RunPlan,
        records.TrialRecord,
        records.UsageRecord,
        records.CostLine,
        records.Score,
        records.VerifyStep,
        records.ArtifactRecord,
    ]
    for model in shown:
        docs = attribute_docs(model)
        own = {name: info for name, info in model.model_fields.items()}
        rows: list[list[object]] = [
            [f"`{info.alias or name}`", f"`{annotation(info.annotation)}`", docs.get(name, "")]
            for name, info in own.items()
        ]
        parts += [f"## {model.__name__}\n", (inspect.getdoc(model) or "") + "\n"]
        parts += [table(["key", "type", "meaning"], rows)]
    return "\n".join(parts)


def annotation(value: Any) -> str:
    text = value.__name__ if isinstance(value, type) and not hasattr(value, "__args__") else str(value)
    for noise in ("typing.", "sphynx.schema.records."):
        text = text.replace(noise, "")
    return text


def main() -> int:
    schema = json.dumps(json_schema(), indent=2) + "\n"
    pages = {
        "fields.md": fields_page(),
        "cli.md": cli_page(),
        "records.md": records_page(),
        "skill-report.schema.json": schema,
        "eval-report.schema.json": json.dumps(report_schema(), indent=2) + "\n",
        "junit.xsd": junit_xsd(),
    }
    stale = [name for name, text in pages.items() if not same(PAGES / name, text)]
    if "--check" in sys.argv:
        for name in stale:
            print(f"error: docs/reference/{name} is not what the code says", file=sys.stderr)
        return 1 if stale else 0
    PAGES.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (PAGES / name).write_text(pages[name])
        print(f"wrote docs/reference/{name}", file=sys.stderr)
    return 0


def same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main())
