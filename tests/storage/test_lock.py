"""Tests that only one gateway at a time uses a SQLite key store."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.storage.lock import LockError, exclusive_lock

HOLDER = """
import sys
from pathlib import Path
from gateway.storage.lock import exclusive_lock
with exclusive_lock(Path(sys.argv[1])):
    print("has it", flush=True)
    sys.stdin.read()
"""


def hold(database: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until it is killed."""
    process = subprocess.Popen(  # noqa: S603  (our own program)
        [sys.executable, "-c", HOLDER, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_second_process_is_refused(tmp_path: Path) -> None:
    """The error of a second process names the store, and the process that holds the lock."""
    database = tmp_path / "keys.db"
    process = hold(database)
    try:
        with pytest.raises(LockError) as caught, exclusive_lock(database):
            pass
    finally:
        end(process)

    assert f"process {process.pid} " in str(caught.value)
    assert str(database) in str(caught.value)


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    """After a gateway is killed, the next gateway can take the lock."""
    end(hold(tmp_path / "keys.db"))
    with exclusive_lock(tmp_path / "keys.db"):
        is_ours = (tmp_path / "keys.db.lock").read_text()

    assert is_ours.strip().isdecimal()


def test_a_lock_ends_with_its_block(tmp_path: Path) -> None:
    """The lock is free after its `with` block."""
    for _ in range(2):
        with exclusive_lock(tmp_path / "keys.db"):
            pass

    assert (tmp_path / "keys.db.lock").exists()


def test_each_store_has_its_own_lock(tmp_path: Path) -> None:
    """Locks of two key stores in one directory do not exclude each other."""
    with exclusive_lock(tmp_path / "keys.db"), exclusive_lock(tmp_path / "others.db"):
        files = sorted(path.name for path in tmp_path.iterdir())

    assert files == ["keys.db.lock", "others.db.lock"]


def test_a_link_has_the_lock_of_its_target(tmp_path: Path) -> None:
    """A link to the database uses the same lock as the database."""
    (tmp_path / "keys.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "keys.db")
    with (
        exclusive_lock(tmp_path / "keys.db"),
        pytest.raises(LockError, match="already uses"),
        exclusive_lock(tmp_path / "link.db"),
    ):
        pass


def test_waiting_for_the_lock(tmp_path: Path) -> None:
    """A waiting process gets the lock as soon as the other process ends."""
    process = hold(tmp_path / "keys.db")
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            end(process)

    with exclusive_lock(tmp_path / "keys.db", max_wait_seconds=10, clock=lambda: 0.0, sleep=nap):
        waited = len(naps)

    assert waited >= 3


def test_patience_has_an_end(tmp_path: Path) -> None:
    times = iter([0.0, 4.0, 5.0])
    naps: list[float] = []
    with (
        exclusive_lock(tmp_path / "keys.db"),
        pytest.raises(LockError, match="already uses"),
        exclusive_lock(
            tmp_path / "keys.db",
            max_wait_seconds=5,
            clock=lambda: next(times),
            sleep=naps.append,
        ),
    ):
        pass

    assert len(naps) == 1


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    """If the directory of the lock file is missing, an error message without a traceback says
    so.
    """
    with (
        pytest.raises(LockError, match="cannot be opened or created: No such file"),
        exclusive_lock(tmp_path / "nowhere" / "keys.db"),
    ):
        pass


def test_a_link_in_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    """A link in place of the lock file is an error, and its target is neither emptied nor
    created.
    """
    (tmp_path / "precious").write_text("content")
    for target in ("precious", "new", "keys.db.lock"):
        (tmp_path / "keys.db.lock").unlink(missing_ok=True)
        (tmp_path / "keys.db.lock").symlink_to(tmp_path / target)
        with (
            pytest.raises(LockError, match=r"keys\.db\.lock .*: it is a symbolic link: delete it"),
            exclusive_lock(tmp_path / "keys.db"),
        ):
            pass

    assert (tmp_path / "precious").read_text() == "content"
    assert not (tmp_path / "new").exists()


def test_a_pipe_in_place_of_the_lock_is_reported(tmp_path: Path) -> None:
    """A named pipe in place of the lock file is an error, without a wait for the pipe's other
    end.
    """
    os.mkfifo(tmp_path / "keys.db.lock")
    with (
        pytest.raises(LockError, match="cannot be written: Invalid argument"),
        exclusive_lock(tmp_path / "keys.db"),
    ):
        pass
