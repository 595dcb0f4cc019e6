"""Files that an operator names: opened without waiting, and permissions of those with secrets."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

HOW_TO_MEND = "run chmod 600 on it"


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file to read it.

    Raises OSError, also for pipes and devices, which may have no writer or no end.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is no regular file, but a pipe or a device")


def is_open_to_others(mode: int) -> bool:
    """True if other users can read or write a file of this mode; always False outside POSIX."""
    return os.name == "posix" and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def is_changeable_by_others(mode: int) -> bool:
    """True if other users can write to a file of this mode."""
    return os.name == "posix" and bool(mode & (stat.S_IWGRP | stat.S_IWOTH))
