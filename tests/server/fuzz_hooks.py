"""What schemathesis does around each call, so that valid requests pass the rules and reach stored things.

Loaded by ``schemathesis run`` through ``SCHEMATHESIS_HOOKS``; ``test_fuzz`` tells in ``SPHYNX_FUZZ`` what is
known of the server. Invalid requests are sent as they were made.
"""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any

import requests
import schemathesis

TOLD: dict[str, Any] = json.loads(os.environ.get("SPHYNX_FUZZ", "{}"))
KNOWN: dict[str, list[Any]] = TOLD.get("known", {})
STARTS = ("/v1/evals.batches.start", "/v1/runner.start", "/v1/evals.cases.run")
_beaten = 0.0
CHOICE = random.Random(7)


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Half of the valid requests name things that exist and start what can be started."""
    mode = case.meta.generation.mode if case.meta else None
    if mode != schemathesis.GenerationMode.POSITIVE or CHOICE.random() < 0.5:
        return
    body, name = case.body, case.path.removeprefix("/v1/")
    if not isinstance(body, dict):
        return
    for field in ("id", "runId", "caseId", "variant", "names", "harness"):
        known = KNOWN.get(f"{name}.{field}") or KNOWN.get(f"{name.rpartition('.')[0]}.{field}")
        if field in body and known:
            body[field] = CHOICE.choice(known)
    if name in ("evals.batches.start", "runner.start"):
        _make_startable(body)
    if name == "runner.start":
        body["local"] = CHOICE.random() < 0.7


def _make_startable(body: dict[str, Any]) -> None:
    body["trials"] = 1
    body["suite"]["prompt"] = "{{"
    body["variants"] = [{
        "harness": "command", "model": "m", "sandbox": "local",
        "profile": {"name": "p", "files": {}, "run": "true"},
    }]  # fmt: skip
    for number, case in enumerate(body["cases"][:5]):
        for key in ("validator", "prepare", "cache", "x-sphynx", "user"):
            case.pop(key, None)
        case |= {"id": f"c-{number}", "verify": "true"}
    body["cases"] = body["cases"][:5]


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Keep the open batch open, remember what was started, and make room when three batches run."""
    global _beaten
    if time.monotonic() - _beaten > 60:
        _beaten = time.monotonic()
        _post("runner.beat", TOLD["open"])
    if case.path not in STARTS:
        return
    if response.status_code == 200:
        started = response.json()
        for names, value in (
            (("evals.batches.id", "runner.id"), started["id"]),
            (("evals.runs.id", "runner.report.runId"), started["runs"][0]["id"]),
            (("evals.cases.id", "evals.runs.list.caseId"), started["runs"][0]["caseId"]),
            (("evals.runs.list.variant",), started["runs"][0]["variantId"]),
        ):
            for name in names:
                KNOWN[name] = [*KNOWN.get(name, [])[-9:], value]
    elif response.status_code == 409:
        for batch in KNOWN.get("evals.batches.id", []):
            _post("evals.batches.cancel", batch)


def _post(name: str, batch: str) -> None:
    headers = {"authorization": f"Bearer {TOLD['key']}"}
    requests.post(f"{TOLD['url']}/v1/{name}", json={"id": batch}, headers=headers, timeout=30)
