"""Judges, people and text checks for eval files."""

from __future__ import annotations

from sphynx.validators.judge import Judge as Judge
from sphynx.validators.judge import judge as judge
from sphynx.validators.people import Human as Human
from sphynx.validators.people import Script as Script
from sphynx.validators.people import human as human
from sphynx.validators.people import script as script
from sphynx.validators.texts import contains_all as contains_all
from sphynx.validators.texts import contains_any as contains_any
from sphynx.validators.texts import contains_none as contains_none
from sphynx.validators.transcripts import no_transcript_contains as no_transcript_contains
from sphynx.validators.transcripts import transcript_contains as transcript_contains

__all__ = [
    "Human",
    "Judge",
    "Script",
    "contains_all",
    "contains_any",
    "contains_none",
    "human",
    "judge",
    "no_transcript_contains",
    "script",
    "transcript_contains",
]
