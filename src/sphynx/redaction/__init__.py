"""Secrets out of text: known values in their usual disguises, then shapes that look like keys.

Everything stored, printed or sent to a judge passes here **before** it is cut.
"""

from __future__ import annotations

from sphynx.redaction.caps import cut, utf16_length
from sphynx.redaction.redactor import MIN_SECRET, Redactor
from sphynx.redaction.spans import MARK
from sphynx.redaction.stream import StreamRedactor

__all__ = ["MARK", "MIN_SECRET", "Redactor", "StreamRedactor", "cut", "utf16_length"]
