"""Mocks: MCP servers, command lines and HTTP APIs that exist only inside a trial.

``sphynx.mocks.mcp``, ``sphynx.mocks.cli`` and ``sphynx.mocks.api`` make them; ``fail_once`` and ``delay``
wrap handlers. Only what an eval file imports is loaded.
"""

from __future__ import annotations

from sphynx.mocks.faults import delay as delay
from sphynx.mocks.faults import fail_once as fail_once
from sphynx.mocks.handling import MockContext as MockContext
