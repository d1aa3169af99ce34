"""A judge asked through OpenAI's Responses API: structured output, nothing stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sphynx.judges import criteria
from sphynx.judges.verdict import Answer, schema
from sphynx.providers.asking import post_json
from sphynx.providers.table import PROVIDERS
from sphynx.providers.usage import responses_usage
from sphynx.suite.judges import JudgeSpec

MAX_TOKENS = 2_048


def request(judge: JudgeSpec, told: str, evidence: str) -> dict[str, Any]:
    """The body that is sent: instructions and evidence never share a field."""
    wanted = criteria.schema(len(judge.criteria)) if judge.criteria else schema(judge.choices)
    form = {"type": "json_schema", "name": "judgment", "strict": True, "schema": wanted}
    return {
        "model": judge.model,
        "instructions": told,
        "input": evidence,
        "store": False,
        "max_output_tokens": MAX_TOKENS * (4 if judge.criteria else 1),
        "text": {"format": form},
    }


def missing_key(judge: JudgeSpec, env: Mapping[str, str]) -> str:
    """What is missing to ask the provider, for people; empty when nothing is."""
    provider = PROVIDERS[judge.provider or "openai"]
    return (
        ""
        if provider.key(env)
        else f"{provider.key_name} is not set, which judges asked through {provider.label} need"
    )


async def ask(judge: JudgeSpec, body: Mapping[str, Any], env: Mapping[str, str]) -> Answer:
    """Ask once. ``ProviderError`` when nobody answers, ``TimeoutError`` past the judge's limit."""
    provider = PROVIDERS[judge.provider or "openai"]
    got, text = await post_json(
        f"{provider.base_url(env)}/responses",
        body,
        key=provider.key(env),
        timeout_s=judge.timeout_ms / 1000,
    )
    return read_response(got, text)


def read_response(got: Mapping[str, Any], raw: str) -> Answer:
    """The answer inside a response: its texts joined, or a refusal, or why it is not whole."""
    texts: list[str] = []
    refusal, tools = "", ""
    for item in _objects(got.get("output")):
        if item.get("type") == "reasoning":
            continue
        if item.get("type") != "message":
            tools = tools or str(item.get("name") or item.get("type"))
        for part in _objects(item.get("content")):
            if part.get("type") == "refusal":
                refusal = str(part.get("refusal") or "no reason given")
            elif part.get("type") == "output_text":
                texts.append(str(part.get("text") or ""))
    rest = {key: value for key, value in got.items() if key not in ("output", "text", "instructions")}
    return Answer(
        "".join(texts) or (refusal or raw),
        usage=responses_usage(dict(got)),
        tools=tools,
        refusal=refusal,
        incomplete=_incomplete(got),
        metadata={**rest, **({"refusal": refusal} if refusal else {})},
    )


def _incomplete(got: Mapping[str, Any]) -> str:
    status = got.get("status")
    if status == "completed":
        return ""
    details = got.get("incomplete_details") or got.get("error")
    why = details.get("reason") or details.get("message") if isinstance(details, dict) else None
    return str(why or f"its status is {json.dumps(status)}")


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
