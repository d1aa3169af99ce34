"""The wire's form of a bundle: one ES module that carries it and starts ``python3`` on it.

The hosted service runs such a module with node in the workspace. Node only writes three files and starts
Python; the rest is Python's (``start_program.py`` unpacks, ``wire_program.py`` speaks the protocol).
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from sphynx.compiler.bundle import MANIFEST, TREE, Contents, manifest_text
from sphynx.errors import CompileError

MAX_COMPRESSED = 748_000
"""Bytes of a compressed bundle, so that the whole module stays below 1,000,000 characters."""

ROOMS = ("suite", "validators", "mocks", "runner", "guest")
"""What an eval file imports and what runs in a sandbox: the rooms that need nothing but Python."""

_PACKAGE = Path(__file__).parent.parent
_EPOCH = (1980, 1, 1, 0, 0, 0)

_SHIM = Template("""\
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
const op = $op, bundle = "$bundle";
const dir = mkdtempSync(join(tmpdir(), "sphynx-"));
const put = (name, data) => writeFileSync(join(dir, name), data, {mode: 0o600});
let over = false;
const end = (code, why) => {
  if (over) return;
  over = true;
  rmSync(dir, {recursive: true, force: true});
  const leave = () => process.exit(code);
  if (!why) return leave();
  if (op !== "checks") return process.stderr.write(why + "\\n", leave);
  const result = JSON.stringify({passed: false, message: why});
  process.stdout.write("\\nSPHYNX_VALIDATOR_RESULT=" + result + "\\n", leave);
};
put("request.json", $request);
put("bundle.bin", Buffer.from(bundle, "base64"));
put("start.py", $start);
const p = spawn("python3", ["-I", join(dir, "start.py"), op], {stdio: ["ignore", "inherit", "inherit"]});
p.on("error", (e) => end(1, "python3 (3.11 or newer) could not be started: " + e.code));
p.on("exit", (code, by) => by ? end(1, "Python was ended by " + by) : end(code));
for (const [name, code] of [["SIGTERM", 143], ["SIGINT", 130]])
  process.on(name, () => { p.kill("SIGKILL"); end(code, "stopped by " + name); });
""")


def pack(contents: Contents) -> bytes:
    """A bundle with Sphynx's own rooms, compressed: the same bytes for the same contents on every machine.

    ``CompileError`` with the five largest files when it is too large for the wire.
    """
    files = {MANIFEST: manifest_text(contents.manifest).encode()}
    files |= {f"{TREE}/{name}": content for name, content in contents.files.items()}
    files |= library()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name])
    packed = zlib.compress(buffer.getvalue(), 9)
    if len(packed) > MAX_COMPRESSED:
        largest = sorted(contents.files.items(), key=lambda item: (-len(item[1]), item[0]))[:5]
        shown = ", ".join(f"{name} ({len(content):,} bytes)" for name, content in largest)
        raise CompileError(
            f"the bundle has {len(packed):,} compressed bytes, at most {MAX_COMPRESSED:,}; largest: {shown}",
            tag="BundleTooLarge",
            hint="leave out data files, or run it here with --local, which has no such limit",
        )
    return packed


def library() -> dict[str, bytes]:
    """The part of Sphynx that a bundle carries, by path in the bundle."""
    paths = [_PACKAGE / name for name in ("__init__.py", "_version.py", "errors.py")]
    for room in ROOMS:
        paths += sorted((_PACKAGE / room).rglob("*.py"))
    out = {f"lib/sphynx/{path.relative_to(_PACKAGE).as_posix()}": path.read_bytes() for path in paths}
    return {**out, "lib/wire_program.py": (_PACKAGE / "compiler" / "wire_program.py").read_bytes()}


def es_module(packed: bytes, request: Mapping[str, Any]) -> str:
    """The module that runs ``request``: ``op`` (checks or prepare), ``suite``, ``case``, ``capture``."""
    start = (_PACKAGE / "compiler" / "start_program.py").read_text("utf-8")
    return _SHIM.substitute(
        op=json.dumps(request["op"]),
        request=json.dumps(json.dumps(request, separators=(",", ":"))),
        bundle=base64.b64encode(packed).decode(),
        start=json.dumps(start[start.index("import sys") :]),
    )
