"""Errors as the author should see them: their own line first, ours left out."""

from __future__ import annotations

import os
from types import TracebackType

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def place(error: BaseException, tree: str) -> tuple[str, int] | None:
    """The innermost line below ``tree`` that the error passed through: path relative to it, line from 1."""
    if isinstance(error, SyntaxError) and error.filename:
        named = _inside(error.filename, tree)
        if named:
            return named, error.lineno or 1
    found = None
    step = error.__traceback__
    while step is not None:
        named = _inside(step.tb_frame.f_code.co_filename, tree)
        if named:
            found = named, step.tb_lineno
        step = step.tb_next
    return found


def one_line(error: BaseException) -> str:
    """``KeyError: 'port'``: the type and the first line of what it says."""
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    text = _said(error).strip()
    first = text.splitlines()[0] if text else ""
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def stack(error: BaseException, tree: str) -> str:
    """The traceback from the author's first line on, with paths relative to the project."""
    import traceback

    step = error.__traceback__
    while step is not None and not _inside(step.tb_frame.f_code.co_filename, tree):
        step = step.tb_next
    if step is None:  # it never came through the author's files
        step = error.__traceback__
        while step is not None and step.tb_frame.f_code.co_filename.startswith(_OURS):
            step = step.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, step))
    except Exception:
        # An exception whose own __str__ raises must not take the report down with it.
        text = one_line(error)
    return text.replace(tree + os.sep, "") if tree else text


def assertion_text(error: AssertionError) -> str:
    """What a failed ``assert`` says: its message, else ``assertion failed: <the source of it>``."""
    said = _said(error).strip()
    if said:
        return said
    source = _asserted(error.__traceback__)
    return f"assertion failed: {source}" if source else "assertion failed"


def _asserted(step: TracebackType | None) -> str:
    """The source of the statement that raised, on one line. An assert may span several."""
    import ast
    import linecache

    if step is None:
        return ""
    while step.tb_next is not None:
        step = step.tb_next
    file, line = step.tb_frame.f_code.co_filename, step.tb_lineno
    source = linecache.getline(file, line)
    try:
        for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
            if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or node.lineno):
                source = "".join(linecache.getlines(file)[node.lineno - 1 : node.end_lineno])
    except (SyntaxError, ValueError, RecursionError):
        pass  # the file has changed since it was imported: the line alone must do
    return " ".join(source.split())


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _inside(path: str, tree: str) -> str:
    return path[len(tree) + 1 :] if tree and path.startswith(tree + os.sep) else ""
