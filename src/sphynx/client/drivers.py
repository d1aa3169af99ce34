"""Perform the steps of a conversation: here what blocks, there what awaits."""

from __future__ import annotations

import inspect
import time
from typing import Any

import anyio
import httpx

from sphynx.client.connection import failure, limits, reply
from sphynx.client.protocol import Server
from sphynx.client.steps import Answered, Conversation, Pause, Send


class SyncDriver:
    """Performs the steps of a conversation, one after another."""

    def __init__(self, server: Server, http: httpx.Client) -> None:
        self.server = server
        self.http = http

    def run(self, steps: Conversation[Any]) -> Any:
        """What the conversation comes to."""
        answer: Answered = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, Send):
                answer = self._send(step)
            elif isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                step.function(step.value)

    def _send(self, step: Send) -> Answered:
        try:
            return reply(
                self.http.request(
                    step.method,
                    step.path,
                    content=step.body,
                    headers=step.headers,
                    timeout=limits(step.timeout_s),
                )
            )
        except httpx.TransportError as error:
            return failure(error)


class AsyncDriver:
    """Performs the steps of a conversation, one after another."""

    def __init__(self, server: Server, http: httpx.AsyncClient) -> None:
        self.server = server
        self.http = http

    async def run(self, steps: Conversation[Any]) -> Any:
        """What the conversation comes to."""
        answer: Answered = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as end:
                return end.value
            answer = None
            if isinstance(step, Send):
                answer = await self._send(step)
            elif isinstance(step, Pause):
                await anyio.sleep(step.seconds)
            else:
                told = step.function(step.value)
                if inspect.isawaitable(told):
                    await told

    async def _send(self, step: Send) -> Answered:
        try:
            return reply(
                await self.http.request(
                    step.method,
                    step.path,
                    content=step.body,
                    headers=step.headers,
                    timeout=limits(step.timeout_s),
                )
            )
        except httpx.TransportError as error:
            return failure(error)
