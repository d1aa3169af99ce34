"""``python -m sphynx.testing.scripted_model``."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx

COMMAND = [sys.executable, "-m", "sphynx.testing.scripted_model"]


def test_it_prints_its_address_plays_the_file_and_logs_without_keys(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"scripts": {"sk-one": [{"text": "hello"}]}}))
    log = tmp_path / "log.jsonl"
    argv = [*COMMAND, "--script", str(script), "--log", str(log)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        headers = {"authorization": "Bearer sk-one"}
        answer = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers)
        assert answer.json()["choices"][0]["message"]["content"] == "hello"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    (line,) = log.read_text().splitlines()
    assert json.loads(line)["body"]["messages"] == body["messages"]
    assert "sk-one" not in line


def test_a_bare_list_answers_every_key(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "hello"}]')
    with subprocess.Popen([*COMMAND, "--script", str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        answer = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "hi"})
        assert answer.status_code == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_a_script_that_cannot_be_used_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    for text, said in (
        (None, "No such file"),
        ("{", "not JSON"),
        ('{"steps": []}', "expected a list of steps"),
        ('[{"txt": 1}]', 'unknown key "txt"'),
    ):
        script = tmp_path / "script.json"
        script.unlink(missing_ok=True)
        if text is not None:
            script.write_text(text)
        done = subprocess.run(
            [*COMMAND, "--script", str(script)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert said in done.stderr
        assert "Traceback" not in done.stderr
