"""Permissions of files with secrets."""

import os
import stat

HOW_TO_MEND = "run chmod 600 on it"


def is_open_to_others(mode: int) -> bool:
    """True if other users can read or write a file of this mode; always False outside POSIX."""
    return os.name == "posix" and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def is_changeable_by_others(mode: int) -> bool:
    """True if other users can write to a file of this mode."""
    return os.name == "posix" and bool(mode & (stat.S_IWGRP | stat.S_IWOTH))
