"""A trial's mocks at work: one process that runs every handler, and thin programs that lead to it.

The agent's MCP client and its shell start :mod:`sphynx.guest.mocks.relay`, which passes bytes to the door of
the process the handlers run in. So all mocks of a trial share one state, start fast, and every call is
reported to the host over the private channel before its answer leaves: nothing the agent can write to holds
the log.
"""

FOLDER = ".sphynx/mocks"
"""Where the mocks of a trial live, below its home."""
