"""A model server that plays a script, so that real agents can be run without a model and without paying.

It speaks OpenAI Responses, OpenAI chat completions, Anthropic Messages, Gemini and AI Gateway, streaming or
not. A script is a list of steps; each answer of the model takes one::

    from sphynx.testing.scripted_model import ScriptedModel, say, shell, use, write

    with ScriptedModel() as model:
        model.script("sk-test", [use(shell("pytest -q")), use(write("a.txt", "hi")), say("done")])

``shell``, ``write``, ``edit`` and ``read`` become the asking agent's own tools, so the same script drives any
agent; ``call`` names a tool. ``fail``, ``cut`` and ``silent`` are the ways a model breaks. From a shell:
``python -m sphynx.testing.scripted_model --script FILE``.
"""

from __future__ import annotations

from sphynx.testing.scripted_model.conversation import Seen, Tool, Turn
from sphynx.testing.scripted_model.server import ANY, ScriptedModel
from sphynx.testing.scripted_model.steps import (
    Step,
    Tokens,
    ToolCall,
    When,
    call,
    cut,
    edit,
    fail,
    read,
    say,
    shell,
    silent,
    use,
    write,
)

__all__ = [
    "ANY",
    "ScriptedModel",
    "Seen",
    "Step",
    "Tokens",
    "Tool",
    "ToolCall",
    "Turn",
    "When",
    "call",
    "cut",
    "edit",
    "fail",
    "read",
    "say",
    "shell",
    "silent",
    "use",
    "write",
]
