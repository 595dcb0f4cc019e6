"""Safe opening of the gateway's and operator's files: no blocking, no links of other users."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

HOW_TO_MEND = "run chmod 600 on it"

_NO_LINK = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags to follow no link, and not to wait for the other end of a pipe."""


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
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file, but a pipe or a device", str(path))


def is_open_to_others(mode: int) -> bool:
    """True if other users can read or write a file of this mode; always False outside POSIX."""
    return os.name == "posix" and bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def is_changeable_by_others(mode: int) -> bool:
    """True if other users can write to a file of this mode."""
    return os.name == "posix" and bool(mode & (stat.S_IWGRP | stat.S_IWOTH))


def open_private(path: Path) -> int:
    """Open a file, created for its owner alone if missing; returns its descriptor.

    Raises OSError for a symbolic link, which would lead writes to another file.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a symbolic link: delete it") from error


def own_target(path: Path) -> Path:
    """The file that an operator's link leads to, or the path itself.

    Raises OSError if the owner of the link is neither this user nor root.
    """
    if path.is_symlink() and path.lstat().st_uid not in (0, os.geteuid()):
        raise OSError(errno.ELOOP, "it is a symbolic link of another user: delete it", str(path))
    # Raises nothing for a link to itself, which cannot be opened.
    return Path(os.path.realpath(path))


def give_name(
    file: Path, path: Path, *, link: Callable[[Path, Path], None] = os.link, keeps: bool = False
) -> None:
    """Rename a complete file atomically. Raises OSError, also if the new name is taken.

    With `keeps` the file has both names, unless the file system has no links.
    """
    try:
        link(file, path)
    except OSError as error:
        # On a file system without links.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS) or path.exists():
            raise
        file.rename(path)
    else:
        if not keeps:
            file.unlink()


def give_owner(file: Path, like: Path) -> None:
    """Give a new file the owner of another file or folder, if run as root. Raises OSError."""
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(file, owner.st_uid, owner.st_gid, follow_symlinks=False)
