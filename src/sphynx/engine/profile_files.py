"""Lay a profile over a trial: its ``home/`` and ``workspace/`` files, its system prompt, its install."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sphynx.compiler.profiles import Profile
from sphynx.contracts import Sandbox
from sphynx.engine.shown import Shown
from sphynx.errors import StageError
from sphynx.redaction import Redactor

INSTALL_LIMIT_MS = 1_800_000


async def write_files(box: Sandbox, profile: Profile, part: str) -> None:
    """Write the files below ``part`` (``home`` or ``workspace``) to where they belong."""
    target = box.home if part == "home" else box.workspace
    prefix = f"{part}/"
    for path, text in profile.files.items():
        if path.startswith(prefix):
            mode = 0o755 if text.startswith("#!") else 0o644
            await box.write(
                f"{target}/{path[len(prefix) :]}", text.encode("utf-8", "surrogatepass"), mode=mode
            )
    for path, blob in profile.blobs.items():
        if path.startswith(prefix):
            mode = 0o755 if blob.executable else 0o644
            await box.write(f"{target}/{path[len(prefix) :]}", blob.data, mode=mode)


async def install(
    box: Sandbox,
    profile: Profile,
    *,
    env: Mapping[str, str],
    redactor: Redactor,
    show: Callable[[str], None],
) -> None:
    """Run the profile's ``install`` once, in the workspace. A non-zero exit makes the trial void."""
    if not profile.install:
        return
    shown = Shown(redactor, show)
    result = await box.exec(
        ["bash", "-c", profile.install],
        cwd=box.workspace,
        env=env,
        timeout_ms=INSTALL_LIMIT_MS,
        on_stdout=shown.feed,
        on_stderr=shown.feed,
        keep=0,
    )
    shown.close()
    if result.timed_out:
        raise StageError("The profile's install took longer than 30m", stage="install", cause="setup")
    if result.exit_code != 0:
        last = shown.last_line()
        text = f"The profile's install exited with status {result.exit_code}" + (f": {last}" if last else "")
        raise StageError(text, stage="install", cause="setup")
