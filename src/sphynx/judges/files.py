"""Files of the workspace that judges read whole: within their limits, or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sphynx.contracts import Sandbox
from sphynx.redaction import utf16_length

FILE_BYTES = 128_000
FILE_CHARS = 32_000
TOTAL_CHARS = 96_000
"""Over all files that the judges of a case read."""

Kind = Literal["read", "missing", "oversized:file", "oversized:total", "not kept"]


@dataclass(frozen=True, slots=True)
class JudgeFile:
    """One file as judges get it. ``text`` is empty unless it was ``read``."""

    path: str
    kind: Kind
    text: str = ""

    @property
    def problem(self) -> str:
        """Why a judge that needs the file cannot be asked; empty when it can."""
        if self.kind == "missing":
            return f"{self.path} is not there, or is no file"
        if self.kind == "not kept":
            return f"{self.path} cannot be read, the trial's workspace was not kept"
        if self.kind == "oversized:file":
            return f"{self.path} is longer than {FILE_CHARS:,} characters"
        if self.kind == "oversized:total":
            return f"{self.path} would make the files of all judges longer than {TOTAL_CHARS:,} characters"
        return ""


async def read_files(box: Sandbox, paths: Iterable[str]) -> dict[str, JudgeFile]:
    """The files by path, in the order given, each read once."""
    found: list[tuple[str, str | None]] = []
    for path in dict.fromkeys(paths):
        try:
            data = await box.read(path, limit=FILE_BYTES + 1)
        except OSError:
            found.append((path, None))
            continue
        # Longer than any text that fits, whatever its characters are.
        text = data.decode("utf-8", "replace") if len(data) <= FILE_BYTES else "x" * (FILE_CHARS + 1)
        found.append((path, text))
    return {file.path: file for file in fitted(found)}


def fitted(found: Sequence[tuple[str, str | None]]) -> list[JudgeFile]:
    """Apply the limits in order; a file that does not fit takes no room from later ones."""
    files: list[JudgeFile] = []
    room = TOTAL_CHARS
    for path, text in found:
        size = 0 if text is None else utf16_length(text)
        if text is None:
            files.append(JudgeFile(path, "missing"))
        elif size > FILE_CHARS:
            files.append(JudgeFile(path, "oversized:file"))
        elif size > room:
            files.append(JudgeFile(path, "oversized:total"))
        else:
            room -= size
            files.append(JudgeFile(path, "read", text))
    return files
