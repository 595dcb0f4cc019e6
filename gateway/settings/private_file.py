"""Permissions of files that hold a secret."""

import os
import stat

HOW_TO_MEND = "run chmod 600 on it"


def is_open_to_others(mode: int) -> bool:
    """Whether a file of this mode can be read or written by others; only POSIX can tell."""
    return os.name == "posix" and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def is_changeable_by_others(mode: int) -> bool:
    """Whether a file of this mode, which is no secret, can be written by others."""
    return os.name == "posix" and bool(mode & (stat.S_IWGRP | stat.S_IWOTH))
