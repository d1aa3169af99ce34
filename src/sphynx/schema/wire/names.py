"""Closed sets of names that several models use."""

from __future__ import annotations

from typing import Literal, TypeAlias

Harness: TypeAlias = Literal["codex", "opencode", "pi", "fx", "claude", "gemini", "qwen", "cursor", "command"]
BuiltInHarness: TypeAlias = Literal["codex", "opencode", "pi", "fx", "claude", "gemini", "qwen", "cursor"]
Sandbox: TypeAlias = Literal["daytona", "e2b", "upstash", "modal", "cloudflare", "vercel", "local", "docker"]
"""``docker`` is ours: a server of one's own has it, the hosted one does not."""
