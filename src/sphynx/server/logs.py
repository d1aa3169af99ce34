"""Logs as JSON lines on stderr. What is logged is names, ids and counts, never what a client sent."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_PLAIN = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "taskName"}


class Lines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and what the call added."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: value for name, value in record.__dict__.items() if name not in _PLAIN}
        return json.dumps(told, default=str)


def to_stderr(level: int = logging.INFO) -> None:
    """Send the server's own logs to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logger = logging.getLogger("sphynx")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
