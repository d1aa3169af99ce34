"""An agent in thirty lines: it reads the prompt, writes the file, and says what it did.

A real agent asks a model what to do; this one follows the prompt's words, so that the example needs no key
and no network. What it prints is the whole protocol: one JSON object per line on stdout.
"""

import json
import os
import re
import subprocess


def emit(tag, **fields):
    print(json.dumps({"_tag": tag, **fields}), flush=True)


prompt = os.environ["SPHYNX_PROMPT"]
emit("Started", sessionId="hello-1", model=os.environ["SPHYNX_MODEL"])
wanted = re.search(r"Create (\S+) containing exactly (.+)", prompt)
if wanted is None:
    emit("Finished", reason="failed: the prompt asks for nothing this agent can do")
    raise SystemExit

path, text = wanted.groups()
emit("Message", role="assistant", text="I will write the file and check it.")
with open(path, "w") as file:
    file.write(text)
emit("FileChange", paths=[os.path.join(os.getcwd(), path)])

check = subprocess.run(["cat", path], capture_output=True, text=True)
emit("Command", command=f"cat {path}", exitCode=check.returncode, output=check.stdout)
emit("Message", role="assistant", text=f"{path} holds {len(check.stdout)} characters.")
emit("Usage", inputTokens=len(prompt.split()), outputTokens=12)
emit("Finished", reason="done")
