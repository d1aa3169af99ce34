"""An agent without a model that holds a conversation: it asks what it does not know, and before it pushes.

It is started anew for every turn. The session that it names in the first one comes back in
``SPHYNX_SESSION_ID``; the workspace keeps what it wrote.
"""

import json
import os
import re
import subprocess


def emit(tag, **fields):
    print(json.dumps({"_tag": tag, **fields}), flush=True)


def answer(said):
    """What it does and says in reply to ``said``."""
    if not os.environ.get("SPHYNX_SESSION_ID"):
        return "What does Pro cost a month, and how many messages does it hold?"
    price = re.search(r"\$(\d+)", said)
    if price:
        with open("pricing.json", "w") as file:
            json.dump({"pro": int(price[1])}, file)
        emit("FileChange", paths=[os.path.abspath("pricing.json")])
        return "Pro is written to pricing.json. Shall I push it live?"
    if os.path.exists("pricing.json") and re.search(r"\byes\b", said, re.I):
        done = subprocess.run(["pricing", "push"], capture_output=True, text=True)
        emit("Command", command="pricing push", exitCode=done.returncode, output=done.stdout + done.stderr)
        return "Pro is live." if done.returncode == 0 else "The push failed."
    return "I will push it when you say yes."


prompt = os.environ["SPHYNX_PROMPT"]
emit(
    "Started", sessionId=os.environ.get("SPHYNX_SESSION_ID") or "pricing-1", model=os.environ["SPHYNX_MODEL"]
)
said = answer(prompt)
emit("Message", role="assistant", text=said)
emit("Usage", inputTokens=len(prompt.split()), outputTokens=len(said.split()))
emit("Finished", reason="done")
