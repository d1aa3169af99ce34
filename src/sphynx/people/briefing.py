"""What a person is told about themselves, and how what they say is read."""

from __future__ import annotations

from collections.abc import Sequence

DONE = "<<DONE>>"
"""A person says this when there is nothing left to say."""

_WHO = """\
You play a person who asked an AI coding agent for help and now talks to it. Stay that person for the whole \
conversation: never say that you are a model, that this is a test, or that you were given instructions."""
_RULES = f"""\
Rules:
- Answer only what the agent asks. A broad question gets everything in your brief that answers it, a narrow \
one just that. What nobody asks about you do not mention.
- Your brief is all you know. Never make up prices, limits, features, names or wishes that are not in it; \
say that you don't mind or don't know.
- You are not technical. You cannot approve tools, run commands, look at or change files; say so when asked.
- If the agent stalls, drifts off or says it is finished when your goal is not met, say what is missing.
- One or two sentences, in plain words.
- When your goal is met, or the agent only waits for something you cannot do, answer exactly {DONE} and \
nothing else."""
_WORDS_ONLY = """\
You are only here to speak. Reply with the person's words and nothing else: no commands, no tools, no files, \
no notes about what you do."""


def system_prompt(goal: str, brief: str) -> str:
    """Who the person is, what they want, and the private brief they answer from."""
    return "\n\n".join(
        (
            _WHO,
            f"What you want:\n{goal}",
            f"Your private brief, which the agent does not see and has to ask for:\n{brief}",
            _RULES,
        )
    )


def agent_briefing(goal: str, brief: str, said: Sequence[str], agent_text: str) -> str:
    """The opening for an agent that plays the person: everything it must know, in one message."""
    parts = [system_prompt(goal, brief), _WORDS_ONLY]
    if said:
        parts.append("You have said so far, oldest first:\n" + "\n".join(f"- {text}" for text in said))
    parts.append(f"The agent now says:\n{agent_text}")
    return "\n\n".join(parts)


def reply_of(text: str | None) -> str | None:
    """What the person says; ``None`` when they are done: they said nothing, or ``<<DONE>>`` anywhere."""
    said = (text or "").strip()
    return None if not said or DONE in said else said
