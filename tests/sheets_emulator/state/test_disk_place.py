"""Paths at which an emulator can and cannot open its SQLite file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sheets_emulator.state.disk import DiskError, open_disk

NOBODY = 65534


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        pytest.param(".", "directory: name a file", id="directory"),
        pytest.param("none/book.db", "No such file or directory", id="no such directory"),
        pytest.param("notes.txt", "not a file of an emulator", id="another file"),
        pytest.param("notes.txt/book.db", "Not a directory", id="below a file"),
        pytest.param("pipe", "this is a pipe or a device: name a regular file", id="pipe"),
        pytest.param("x\0y", "null", id="no path at all"),
    ],
)
def test_a_path_that_cannot_be_opened_gets_the_reason(
    tmp_path: Path, name: str, complaint: str
) -> None:
    """The error is one line with the path and the reason."""
    (tmp_path / "notes.txt").write_text("some notes, which are longer than a header" * 50)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DiskError, match=complaint) as caught:
        open_disk(tmp_path / name)

    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@contextmanager
def powerless(path: Path) -> Iterator[None]:
    """Drop root's privileges during the block. The unprivileged user owns the path."""
    if os.geteuid() != 0:
        yield
        return
    for each in (path, *path.iterdir()):
        os.chown(each, NOBODY, -1)
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.parametrize("modes", [(0o400, 0o700), (0o600, 0o500)], ids=["file", "directory"])
def test_a_read_only_file_or_directory_is_an_error(modes: tuple[int, int]) -> None:
    """Opening a read-only file, or a file in a read-only directory, raises DiskError."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "book.db"
        open_disk(path).close()
        with powerless(path.parent):
            path.chmod(modes[0])
            path.parent.chmod(modes[1])
            with pytest.raises(
                DiskError, match="this process cannot write to the file or its directory"
            ):
                open_disk(path)
            path.parent.chmod(0o700)
            path.chmod(0o600)
            open_disk(path).close()

        assert path.is_file()
