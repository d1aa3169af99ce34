"""Closed sets of names that several models use."""

from __future__ import annotations

from typing import Literal, TypeAlias

Harness: TypeAlias = Literal["codex", "opencode", "pi", "fx", "claude", "gemini", "qwen", "cursor", "command"]
BuiltInHarness: TypeAlias = Literal["codex", "opencode", "pi", "fx", "claude", "gemini", "qwen", "cursor"]
Sandbox: TypeAlias = Literal["daytona", "e2b", "upstash", "modal", "cloudflare", "vercel", "local"]
