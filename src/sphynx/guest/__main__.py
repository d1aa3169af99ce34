"""``python -P -m sphynx.guest --bundle DIR --request FILE (--result-fd N | --nonce HEX)``.

The fresh form: one interpreter for one request. Start it with ``-P`` (or the workspace, which the agent
wrote, could stand in for the standard library). See :mod:`sphynx.guest.protocol`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile

from sphynx.errors import CompileError
from sphynx.guest.bundle import load_apart
from sphynx.guest.program import run_op
from sphynx.guest.protocol import EXIT_IMPORT, Emit, sender


def main(arguments: list[str]) -> int:
    """Read the request, import the bundle, run the op. Gives the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sphynx.guest", allow_abbrev=False)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--request", required=True)
    channel = parser.add_mutually_exclusive_group(required=True)
    channel.add_argument("--result-fd", type=int)
    channel.add_argument("--nonce", default="")
    options = parser.parse_args(arguments)
    with open(options.request, encoding="utf-8") as source:
        request = json.load(source)
    if options.result_fd is not None:
        os.set_inheritable(options.result_fd, False)
        emit = sender(options.result_fd)
    else:
        emit = _private_stdout(options.nonce, capture=request["op"] == "checks")
    try:
        loaded = load_apart(options.bundle)
    except CompileError as error:
        message = f"{error.message} ({error.hint})" if error.hint else error.message
        emit({"t": "failed", "message": message, "status": None})
        emit({"t": "done"})
        return EXIT_IMPORT
    return run_op(loaded, request, emit)


def _private_stdout(nonce: str, *, capture: bool) -> Emit:
    """Keep the real stdout for the frames, where nothing the eval file starts can reach it."""
    private = os.dup(1)
    os.set_inheritable(private, False)
    if capture:
        with tempfile.TemporaryFile() as target:
            os.dup2(target.fileno(), 1)
            os.dup2(target.fileno(), 2)
    else:
        os.dup2(2, 1)
    return sender(private, nonce)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
