"""The request of a suite: valid by our own models, prompts left as templates, checks in one ES module."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from compiler.conftest import SUITE
from compiler.test_compile import FULL
from sphynx.compiler import bundle, compile_definition, compile_eval
from sphynx.compiler.bundle import Contents
from sphynx.compiler.es_module import es_module, pack
from sphynx.compiler.load import load
from sphynx.compiler.sources import captured
from sphynx.errors import CompileError, DefinitionError, UsageError
from sphynx.schema.wire import SuiteBatchRequest

PROFILE = {
    "evals/profile/profile.json": '{"run": "python run.py", "env": {"A": "1"}}',
    "evals/profile/home/x": "y",
}


def test_a_file_gives_the_request_of_each_suite(write) -> None:
    write({"evals/full_eval.py": FULL, **PROFILE})
    (request,) = compile_eval("evals/full_eval.py")
    wire = request.wire()
    first = wire["cases"][0]
    source, prepare = first["validator"].pop("source"), first["prepare"].pop("source")
    repo = {"kind": "repo", "ref": "8f31c4a", "url": "https://github.com/acme/api.git"}
    assert wire == {
        "suite": {"id": "full", "name": "Full", "prompt": "Do {{task}} \\{{literally}}", "source": repo},
        "cases": [
            {
                "id": "a", "name": "a", "source": repo, "tags": [], "variables": {"task": "it"},
                "prepare": {"name": "prepare"},
                "validator": {
                    "name": "2 checks",
                    "manifest": [{"index": 0, "name": "first"}, {"index": 1, "name": "second"}],
                    "sourceFiles": [{"path": "evals/full_eval.py", "content": FULL}],
                },
            },
            {
                "id": "b", "name": "b", "source": {"kind": "files", "files": {"x": "y"}}, "tags": [],
                "variables": {"task": "that"}, "verify": "true",
            },
        ],
        "variants": [
            {"harness": "codex", "model": "m"},
            {
                "harness": "command", "model": "m", "sandbox": "local",
                "profile": {
                    "name": "mine", "files": {"home/x": "y"}, "env": {"A": "1"}, "run": "python run.py",
                },
            },
        ],
        "trials": 2,
    }  # fmt: skip
    assert SuiteBatchRequest.model_validate(request.wire()) == request
    assert len(source) < 1_000_000
    assert "SPHYNX_VALIDATOR_RESULT" in source
    assert prepare != source


def test_what_has_no_field_on_the_wire_stands_under_its_own_key(write) -> None:
    source = SUITE.replace(
        "validate=passes", 'solution="touch x", validate=[named("n", passes, timeout_ms=5_000)]'
    )
    source = source.replace("import case", "import named, case").replace(
        'model="m"', 'model="m", harness_version="1.2"'
    )
    write({"x_eval.py": source})
    wire = compile_eval("x_eval.py")[0].wire()
    assert wire["cases"][0]["x-sphynx"] == {"checkTimeoutMs": [5_000], "solution": "touch x"}
    assert wire["variants"][0]["x-sphynx"] == {"harnessVersion": "1.2"}


def test_source_and_evidence_are_left_out_when_the_suite_says_so(write) -> None:
    write(
        {
            "x_eval.py": SUITE.replace(
                'id="smoke"', 'id="smoke", capture_source=False, capture_validation=False'
            )
        }
    )
    validator = compile_eval("x_eval.py")[0].wire()["cases"][0]["validator"]
    assert "sourceFiles" not in validator
    assert validator["capture"] is False
    assert validator["name"] == "passes"


def test_captured_sources_are_the_projects_own_python_files_as_far_as_they_fit() -> None:
    files = {f"{at:03}.py": b"x" * 9_000 for at in range(120)}
    made = Contents({}, {"x_eval.py": b"1", "data.txt": b"2", **files}, ["x_eval.py", *files])
    kept = captured(made)
    assert kept[0] == {"path": "x_eval.py", "content": "1"}
    assert len(kept) == 100
    big = Contents({}, {"x_eval.py": b"1", "big.py": b"x" * 1_000_000, "a:b.py": b"3", "z.py": b"2"}, [])
    big.sources = ["x_eval.py", "big.py", "a:b.py", "z.py"]
    assert [item["path"] for item in captured(big)] == ["x_eval.py", "z.py"]


@pytest.mark.parametrize(
    ("change", "tag", "part"),
    [
        (('harness="codex"', 'harness="oracle"'), "HarnessNotOnWire", 'harness "oracle" only runs here'),
        (('id="smoke"', 'id="smoke", source=repo("./app")'), "SourceNotOnWire", "repo('./app')"),
    ],
)
def test_what_only_runs_here_is_refused_by_name(change: tuple[str, str], tag: str, part: str, write) -> None:
    text = SUITE.replace(*change).replace("import case", "import repo, case")
    write({"x_eval.py": text, "app/README.md": ""})
    with pytest.raises(CompileError) as caught:
        compile_eval("x_eval.py")
    assert caught.value.tag == tag
    assert caught.value.message.startswith('x_eval.py: suite "smoke": ')
    assert part.replace("'", '"') in caught.value.message.replace("'", '"')


def test_a_file_with_problems_or_without_a_file_is_refused(write) -> None:
    write({"x_eval.py": SUITE.replace('id="smoke"', 'id="Not a handle"')})
    with pytest.raises(DefinitionError):
        compile_eval("x_eval.py")
    with pytest.raises(UsageError, match=r"no such file: y_eval.py"):
        compile_eval("y_eval.py")


def program(root: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the user's own, as ``python program.py``."""
    (root / "program.py").write_text(source)
    return subprocess.run(
        [sys.executable, "program.py"], cwd=root, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_suite_that_a_program_imported_compiles_to_the_same_request(write) -> None:
    root = write({"evals/full_eval.py": FULL + SUITE.replace("says-hello", "other"), **PROFILE})
    wanted = [request.wire() for request in compile_eval("evals/full_eval.py")]
    done = program(
        root,
        "import json\nfrom evals.full_eval import full, smoke\n"
        "from sphynx.compiler import compile_definition\n"
        "print(json.dumps([compile_definition(item).wire() for item in (full, smoke)]))\n",
    )
    assert json.loads(done.stdout) == wanted, done.stderr


def test_a_suite_made_in_the_program_itself_compiles(write) -> None:
    root = write({})
    tail = (
        "from sphynx.compiler import compile_definition\n"
        "if __name__ == '__main__':\n    print(compile_definition(smoke).suite.id)\n"
    )
    done = program(root, SUITE + tail)
    assert done.stdout == "smoke\n", done.stderr


def test_a_suite_from_a_factory_is_found_where_it_is_assigned(write) -> None:
    factory = SUITE.replace("smoke = suite(", "def make():\n    return suite(")
    root = write({"factory.py": factory, "made_eval.py": "from factory import make\nmade = make()\n"})
    done = program(
        root,
        "from made_eval import made\nfrom sphynx.compiler import compile_definition\n"
        "print([file.path for file in compile_definition(made).cases[0].validator.source_files])\n",
    )
    assert done.stdout == "['made_eval.py', 'factory.py']\n", done.stderr


def test_a_suite_with_functions_that_no_module_holds_is_refused(write) -> None:
    from sphynx import case, suite, variant

    made = suite(
        id="inner", prompt="", cases=[case(id="a", validate=lambda ctx: True)],
        variants=[variant(harness="codex", model="m")],
    )  # fmt: skip
    with pytest.raises(CompileError, match='suite "inner" is not at the top level of the file'):
        compile_definition(made)


def test_a_suite_without_functions_needs_no_file(write) -> None:
    from sphynx import case, command, suite, variant

    made = suite(
        id="inner", prompt="p", cases=[case(id="a", validate=command("true"))],
        variants=[variant(harness="codex", model="m")],
    )  # fmt: skip
    assert compile_definition(made).cases[0].verify == "true"


CHECKS = """
import os, signal, subprocess, sys
from sphynx import case, suite, variant

async def answers(ctx):
    print("a print")
    os.write(1, b"raw\\n")
    sys.stderr.write("to stderr\\n")
    os.system("echo SPHYNX_VALIDATOR_RESULT={}")
    told = (await ctx.answer(), await ctx.transcript(), len(await ctx.turns()), ctx.prepared["port"])
    assert told == ("hi", "well\\n\\nhi", 1, 4), told
    assert os.environ["FORWARDED"] == "yes"
    assert [call["cli"] for call in await ctx.cli.calls()] == ["git"]
    return await ctx.read_text("out.txt") == "done"

def fails(ctx):
    return {"passed": False, "message": "no good"}

def raises(ctx):
    raise RuntimeError("boom")

def dies(ctx):
    os.kill(os.getpid(), signal.SIGKILL)

def leaves_a_daemon(ctx):
    subprocess.Popen(["sleep", "20"], start_new_session=True)
    return True

def sleeps(ctx):
    open("started", "w").close()
    import time
    time.sleep(20)

def prepare(ctx):
    print("preparing")
    return {"port": 4, "cached": ctx.cached}

async def broken(ctx):
    await ctx.exec("sh", ["-c", "echo no table >&2; exit 3"])

shim = suite(
    id="shim", prompt="", variants=[variant(harness="codex", model="m")],
    cases=[
        *[case(id=fn.__name__.replace("_", "-"), validate=[fn], prepare=prepare)
          for fn in (answers, fails, raises, dies, leaves_a_daemon)],
        case(id="sleeps", validate=[sleeps], prepare=broken),
    ],
)
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Case id to the files of its checks and its prepare step, as the hosted service would write them."""
    root = tmp_path_factory.mktemp("shim")
    (root / "shim_eval.py").write_text(CHECKS)
    (request,) = compile_eval(root / "shim_eval.py")
    out: dict[str, tuple[Path, Path]] = {}
    for case in request.cases:
        assert case.validator
        assert case.prepare
        out[case.id] = (root / f"{case.id}.mjs", root / f"{case.id}-prepare.mjs")
        out[case.id][0].write_text(case.validator.source)
        out[case.id][1].write_text(case.prepare.source)
    return out


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    texts = {"answer": "hi", "transcript": "well\n\nhi", "turns": '[{"index": 0}]'}
    named = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        named[f"SPHYNX_{name.upper()}_FILE"] = str(tmp_path / name)
    (tmp_path / "tmp").mkdir(exist_ok=True)
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(tmp_path),
        "FORWARDED": "yes",
        "TMPDIR": str(tmp_path / "tmp"), "SPHYNX_PREPARE_VALUE": '{"port": 4}', **named, **more,
    }  # fmt: skip


def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "workspace"
    (place / ".sphynx").mkdir(parents=True)
    call = {"cli": "git", "command": "status", "input": {}, "output": ""}
    (place / ".sphynx/cli-calls.jsonl").write_text(json.dumps(call) + "\n")
    (place / "out.txt").write_text("done")
    return place


def node(module: Path, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    command = [shutil.which("node") or "node", str(module)]
    done = subprocess.run(
        command, cwd=workspace(tmp_path), env=environment(tmp_path, **env), capture_output=True, text=True,
        timeout=15, check=False,
    )  # fmt: skip
    assert list((tmp_path / "tmp").iterdir()) == []
    return done


def verdict(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    last = done.stdout.splitlines()[-1]
    assert last.startswith("SPHYNX_VALIDATOR_RESULT="), done
    assert done.stdout.count("SPHYNX_VALIDATOR_RESULT=") == 1
    return json.loads(last.partition("=")[2])


def records(done: subprocess.CompletedProcess[str]) -> list[dict[str, object]]:
    lines = [line for line in done.stdout.splitlines() if line.startswith("SPHYNX_VALIDATION=")]
    return [json.loads(line.partition("=")[2]) for line in lines]


@needs_node
@pytest.mark.parametrize(
    ("case", "code", "result", "status"),
    [
        ("answers", 0, {"passed": True}, "passed"),
        ("fails", 0, {"passed": False, "message": "no good"}, "failed"),
        ("raises", 1, None, "error"),
        ("leaves-a-daemon", 0, {"passed": True}, "passed"),
    ],
)
def test_node_runs_the_checks_from_the_module_alone(case, code, result, status, modules, tmp_path) -> None:
    before = time.monotonic()
    done = node(modules[case][0], tmp_path)
    assert time.monotonic() - before < 10, "a process that a check leaves behind must not hold it"
    said = verdict(done)
    assert done.returncode == code, done
    assert said == result if result else (said["passed"] is False and "raises" in str(said["message"]))
    assert records(done)[-1]["status"] == status
    assert "x-sphynx" not in records(done)[-1]
    assert len(records(done)) + 1 == len(done.stdout.splitlines()), "nothing a check prints reaches stdout"


@needs_node
def test_a_killed_python_is_told_by_its_signal(modules, tmp_path) -> None:
    done = node(modules["dies"][0], tmp_path)
    assert (done.returncode, verdict(done)) == (
        1,
        {"passed": False, "message": "Python was ended by SIGKILL"},
    )


@needs_node
def test_a_missing_python_is_told(modules, tmp_path) -> None:
    done = node(modules["answers"][0], tmp_path, PATH="/nowhere")
    assert done.returncode == 1
    assert verdict(done)["message"] == "python3 (3.11 or newer) could not be started: ENOENT"


@pytest.mark.parametrize("op", ["checks", "prepare"])
def test_an_old_python_says_that_it_is_old(op: str) -> None:
    """The start of the real program, in an interpreter that claims to be 3.8."""
    text = Path(bundle.__file__).with_name("start_program.py").read_text()
    head = "import sys\nsys.version_info, sys.version = (3, 8, 1), '3.8.1 (main)'\n"
    done = subprocess.run(
        [sys.executable, "-c", head + text, op], capture_output=True, text=True, check=False
    )
    message = "the checks need Python 3.11 or newer, this sandbox has 3.8.1"
    assert done.returncode == 1
    if op == "checks":
        assert verdict(done) == {"passed": False, "message": message}
    else:
        assert (done.stdout, done.stderr) == ("", message + "\n")


@needs_node
@pytest.mark.parametrize(("cached", "env"), [(False, {}), (True, {"SPHYNX_CACHE_RESTORED": "1"})])
def test_node_runs_prepare_from_the_module_alone(
    cached: bool, env: dict[str, str], modules, tmp_path
) -> None:
    done = node(modules["answers"][1], tmp_path, **env)
    assert done.stdout == f"SPHYNX_PREPARE_RESULT={json.dumps({'port': 4, 'cached': cached})}\n"
    assert (done.returncode, done.stderr) == (0, "preparing\n")


@needs_node
def test_a_prepare_that_fails_gives_its_reason_on_stderr(modules, tmp_path) -> None:
    done = node(modules["sleeps"][1], tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "3" in done.stderr


@needs_node
def test_a_prepare_without_python_gives_its_reason_on_stderr(modules, tmp_path) -> None:
    done = node(modules["answers"][1], tmp_path, PATH="/nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ENOENT" in done.stderr


@needs_node
@pytest.mark.parametrize(("signal", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_to_node_ends_python_too(signal: str, code: int, modules, tmp_path) -> None:
    import signal as signals

    place = workspace(tmp_path)
    started = subprocess.Popen(
        [shutil.which("node") or "node", str(modules["sleeps"][0])], cwd=place, env=environment(tmp_path),
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 10
        while not (place / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        children = Path(f"/proc/{started.pid}/task/{started.pid}/children")
        child = children.read_text().split()[0] if children.exists() else None
        started.send_signal(getattr(signals, signal))
        out, _ = started.communicate(timeout=10)
    finally:
        if started.poll() is None:
            started.kill()
    assert started.returncode == code
    assert json.loads(out.splitlines()[-1].partition("=")[2])["message"] == f"stopped by {signal}"
    deadline = time.monotonic() + 5
    while child and Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not (child and Path(f"/proc/{child}").exists())


@needs_node
@pytest.mark.parametrize(
    ("spoil", "part"),
    [
        ({"SPHYNX_TURNS_FILE": "{tmp}/answer"}, "the turns cannot be read"),
        ({"SPHYNX_PREPARE_VALUE": "{"}, "what prepare returned cannot be read"),
    ],
)
def test_what_the_service_left_unreadable_is_named(
    spoil: dict[str, str], part: str, modules, tmp_path
) -> None:
    env = {name: value.replace("{tmp}", str(tmp_path)) for name, value in spoil.items()}
    done = node(modules["answers"][0], tmp_path, **env)
    assert done.returncode == 1
    assert part in str(verdict(done)["message"])


def wheel(folder: Path, name: str, version: str) -> None:
    """The smallest package that can be installed."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", f"VERSION = '{version}'\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


@needs_node
@pytest.mark.parametrize("there", [True, False])
def test_pinned_requirements_that_are_missing_are_installed_beside_the_bundle(
    there: bool, write, tmp_path
) -> None:
    root = write(
        {"x_eval.py": SUITE.replace("return True", "import tinypin\n    return tinypin.VERSION == '1.5'")}
    )
    made = bundle.collect(load(root / "x_eval.py"), (), root)
    made.manifest["requirements"] = ["tinypin==1.5"]
    request = {"op": "checks", "suite": 0, "case": "says-hello", "capture": True}
    (tmp_path / "check.mjs").write_text(es_module(pack(made), request))
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    if there:
        wheel(wheels, "tinypin", "1.5")
    links = {
        "UV_FIND_LINKS": str(wheels),
        "PIP_FIND_LINKS": str(wheels),
        "UV_OFFLINE": "1",
        "PIP_NO_INDEX": "1",
    }
    done = node(tmp_path / "check.mjs", tmp_path, UV_CACHE_DIR=str(tmp_path / "uv"), **links)
    if there:
        assert verdict(done) == {"passed": True}, done
    else:
        assert done.returncode == 1
        assert str(verdict(done)["message"]).startswith("cannot install tinypin==1.5: ")
