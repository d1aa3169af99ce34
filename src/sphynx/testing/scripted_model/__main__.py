"""``python -m sphynx.testing.scripted_model --script FILE``: play a script until interrupted.

The file holds a list of steps, or ``{"scripts": {key: steps}}``, where a key is an API key, a path prefix
that starts with ``/``, or ``*``. Standard output gets one line, the address.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from sphynx.errors import SphynxError, UsageError
from sphynx.testing.scripted_model import ANY, ScriptedModel, Seen


def main(arguments: list[str] | None = None) -> int:
    """Run the server; 0 when it was stopped, 1 when the script is wrong or the port is taken."""
    parser = argparse.ArgumentParser(prog="python -m sphynx.testing.scripted_model", description=__doc__)
    parser.add_argument("--script", required=True, type=Path, help="JSON file with the script")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument(
        "--log", type=Path, help="append one JSON line per model call to this file when it ends"
    )
    given = parser.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        model = ScriptedModel(_scripts(given.script), port=given.port)
        with model:
            sys.stdout.write(model.url + "\n")
            sys.stdout.flush()
            stopped.wait()
            if given.log is not None:
                _log(given.log, model.requests())
    except SphynxError as error:
        sys.stderr.write(f"error: {error.message}\n" + (f"  {error.hint}\n" if error.hint else ""))
        return 1
    return 0


def _scripts(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: not JSON: {error}") from error
    if isinstance(value, list):
        return {ANY: value}
    if not isinstance(value, dict) or set(value) != {"scripts"} or not isinstance(value["scripts"], dict):
        raise UsageError(f'{path}: expected a list of steps or {{"scripts": {{key: steps}}}}')
    return value["scripts"]


def _log(path: Path, requests: list[Seen]) -> None:
    with path.open("a", encoding="utf-8") as file:
        for seen in requests:
            # Headers are left out: they carry the key.
            file.write(json.dumps({"protocol": seen.protocol, "path": seen.path, "body": seen.body}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
