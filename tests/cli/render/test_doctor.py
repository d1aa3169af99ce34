"""The lines of ``sphynx doctor``."""

from __future__ import annotations

from sphynx.cli.findings import Finding
from sphynx.cli.render.doctor import finding_lines
from sphynx.cli.render.style import Style

FOUND = [
    Finding("disk", "ok", "5.4 GB in ~/.sphynx/local", "74.4 GB free   sphynx clean says what can go"),
    Finding(
        "codex", "off", "0.171.0 installed", "node 16: yours will do   no key", "export OPENAI_API_KEY=..."
    ),
]


def test_the_parts_of_a_finding_stand_apart() -> None:
    assert finding_lines(FOUND, Style(width=120)) == [
        "  ✓ disk    5.4 GB in ~/.sphynx/local   74.4 GB free   sphynx clean says what can go",
        "  ○ codex   0.171.0 installed   node 16: yours will do   no key   hint: export OPENAI_API_KEY=...",
    ]


def test_what_finds_no_room_goes_on_below_the_value() -> None:
    assert finding_lines(FOUND[1:], Style(width=60)) == [
        "  ○ codex   0.171.0 installed   node 16: yours will do",
        "            no key   hint: export OPENAI_API_KEY=...",
    ]
