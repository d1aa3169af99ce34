"""Ready-made people and text checks for eval files."""

from __future__ import annotations

from sphynx.validators.people import Script as Script
from sphynx.validators.people import script as script
from sphynx.validators.texts import contains_all as contains_all
from sphynx.validators.texts import contains_any as contains_any
from sphynx.validators.texts import contains_none as contains_none

__all__ = ["Script", "contains_all", "contains_any", "contains_none", "script"]
