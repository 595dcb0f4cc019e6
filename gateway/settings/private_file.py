"""Safe functions to open, rename and own files that other users must not read or replace."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

HOW_TO_MEND = "run 'chmod 600' on it"
"""Advice for a file that other users can read or write."""

_NO_LINK = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags of `open` that fail for a symbolic link, and do not wait if the file is a pipe."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises OSError, also for a pipe or device, because a read of it might never end.
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
    """True if a file of this mode is readable or writable for other users."""
    return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def is_changeable_by_others(mode: int) -> bool:
    """True if a file of this mode is writable for other users."""
    return bool(mode & (stat.S_IWGRP | stat.S_IWOTH))


def open_private(path: Path) -> int:
    """Open a file for reading and writing, or create it. Returns the file descriptor.

    Only the owner can read a new file. Raises OSError, also for a symbolic link, because writes
    would change another file.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise OSError(errno.ELOOP, "it is a symbolic link: delete it") from error


def own_target(path: Path) -> Path:
    """Return the path with its symbolic links resolved.

    Raises OSError if the path is a link whose owner is neither this user nor root.
    """
    if path.is_symlink() and path.lstat().st_uid not in (0, os.geteuid()):
        raise OSError(errno.ELOOP, "it is a symbolic link of another user: delete it", str(path))
    # Does not raise for a link to itself. Opening that link raises later.
    return Path(os.path.realpath(path))


def give_name(
    file: Path, path: Path, *, link: Callable[[Path, Path], None] = os.link, keeps: bool = False
) -> None:
    """Rename a file to `path` atomically. Raises OSError, also if `path` exists.

    With `keeps` the file also keeps its old name, unless the file system has no hard links. `link`
    makes a hard link; tests replace it.
    """
    try:
        link(file, path)
    except OSError as error:
        # These errors mean that the file system has no hard links.
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS) or path.exists():
            raise
        file.rename(path)
    else:
        if not keeps:
            file.unlink()


def give_owner(file: Path, like: Path) -> None:
    """If this process runs as root, give a file the owner and group of `like`. Raises OSError."""
    if os.geteuid() == 0:
        owner = like.stat()
        os.chown(file, owner.st_uid, owner.st_gid, follow_symlinks=False)
