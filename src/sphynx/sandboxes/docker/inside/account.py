"""Who the agent is inside the container: the user the image names."""

from __future__ import annotations

import grp
import os
import pwd

TYPE_CHECKING = False  # the name is enough for type checkers, and typing is slow to import
if TYPE_CHECKING:
    from typing import Any


class Account:
    """A user of the container: ids, supplementary groups, name and shell."""

    __slots__ = ("gid", "groups", "name", "shell", "uid")

    def __init__(self, uid: int, gid: int, groups: list[int], name: str, shell: str) -> None:
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.name = name
        self.shell = shell

    def become(self) -> None:
        """Act as this user where files are concerned, and stay able to end what others started."""
        if os.getuid() == 0 and self.uid != 0:
            os.setgroups(self.groups)
            os.setegid(self.gid)
            os.seteuid(self.uid)

    def stop(self) -> None:
        """Act as root again."""
        if os.getuid() == 0:
            os.seteuid(0)
            os.setegid(0)

    def popen(self) -> dict[str, Any]:
        """How ``subprocess`` starts a program as this user."""
        if os.getuid() != 0 or self.uid == 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": self.groups}


def account(spec: str) -> Account:
    """The user of an image's ``USER`` line: a name or number, with a group behind a colon or not."""
    user, _, group = spec.partition(":")
    entry = _user(user or "0")
    if entry is None:
        uid = int(user)
        gid = _group(group) if group else 0
        return Account(uid, gid, [gid], str(uid), "/bin/sh")
    gid = _group(group) if group else entry.pw_gid
    groups = os.getgrouplist(entry.pw_name, gid)
    return Account(entry.pw_uid, gid, groups, entry.pw_name, entry.pw_shell or "/bin/sh")


def _user(user: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
    except KeyError:
        if user.isdigit():
            return None
        raise ValueError(f"the image names the user {user}, who is not in it") from None


def _group(group: str) -> int:
    if group.isdigit():
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise ValueError(f"the image names the group {group}, which is not in it") from None
