"""One word per kind of tool, whatever an agent calls it."""

from __future__ import annotations

from functools import lru_cache

KINDS = (
    "file_read", "file_write", "file_edit", "shell", "web_fetch", "web_search", "glob", "grep", "list_dir",
    "agent_task", "mcp", "unknown",
)  # fmt: skip
"""Every kind there is."""

_NAMES = {
    "file_read": "read read_file read_many_files view_image notebook_read",
    "file_write": "write write_file create_file",
    "file_edit": "edit multiedit replace apply_patch edit_file notebookedit patch delete",
    "shell": "bash bashoutput killshell shell exec_command write_stdin run_shell_command terminal",
    "web_fetch": "webfetch web_fetch fetch",
    "web_search": "websearch web_search google_web_search",
    "glob": "glob find",
    "grep": "grep grep_search search_file_content codesearch",
    "list_dir": "ls list list_dir list_directory",
    "agent_task": "task agent invoke_agent spawn_agent subagent",
    "mcp": "mcp",
}
_KIND_OF = {name: kind for kind, names in _NAMES.items() for name in names.split()}


@lru_cache(1024)
def kind_of(name: str) -> str:
    """The kind of a tool by its name. MCP tools are known by how agents spell them."""
    lowered = name.lower()
    if lowered.startswith(("mcp__", "mcp_")):
        return "mcp"
    return _KIND_OF.get(lowered, "unknown")
