"""Tests of key stores in SQLite files."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gateway.settings.model import ConfigError
from gateway.storage.key_store import KeyStore
from tests.storage.test_key_store import RECORD, active


def journal_mode(connection: sqlite3.Connection, change: str = "") -> str:
    """Journal mode of a database, after an optional SQL suffix such as ` = DELETE`."""
    (mode,) = connection.execute(f"PRAGMA journal_mode{change}").fetchone()
    return str(mode)


async def test_keys_can_be_read_during_a_write(
    file: Path,
) -> None:
    """Keys can be read while another process is in a write transaction."""
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            mode = journal_mode(other)
            other.execute("BEGIN EXCLUSIVE")
            found = await active(store)

    assert mode == "wal"
    assert found == {b"1": RECORD}


async def test_a_store_opens_while_a_lock_forbids_wal(file: Path) -> None:
    """A store opens while another process holds a lock that prevents the switch to WAL."""
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        mode = journal_mode(other, " = DELETE")
        other.execute("BEGIN IMMEDIATE")
        async with KeyStore.open(file) as store:
            found = await active(store)

    assert mode == "delete"
    assert found == {b"1": RECORD}


async def test_the_files_of_a_store_are_private(file: Path) -> None:
    """Only the owner can read the database file and its side files."""
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
        modes = [stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()]

    assert modes == [0o600] * 3


READ_ALL = """
import sqlite3
import sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() > (0,)
connection.close()
"""


def names_in(directory: Path) -> list[str]:
    """Names of the files in a directory."""
    return [path.name for path in directory.iterdir()]


async def test_a_file_name_can_have_any_character(tmp_path: Path) -> None:
    """Characters such as `%` and `?` in a file name are no parts of a URL."""
    database = tmp_path / "k%20?mode=ro#ü.db"
    async with KeyStore.open(database) as store:
        await store.ping()

    assert names_in(tmp_path) == [database.name]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("text", "file is not a database"),
        ("directory", "Is a directory"),
        ("missing/keys.db", "No such file or directory"),
    ],
)
async def test_an_unusable_path_is_reported(tmp_path: Path, name: str, reason: str) -> None:
    """A path that cannot be a store gives one error line with setting, file and reason."""
    (tmp_path / "text").write_text("not a database " * 100)
    (tmp_path / "directory").mkdir()

    with pytest.raises(ConfigError) as refusal:
        async with KeyStore.open(tmp_path / name):
            pass
    assert refusal.value.problems == [
        f"access.database: {tmp_path / name} cannot be used as the key store: {reason}"
    ]


async def test_a_link_to_a_missing_store_is_followed(tmp_path: Path, file: Path) -> None:
    """A link that exists before its store leads to the same store as the file name."""
    os.symlink(tmp_path / "real.db", file)
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
    async with KeyStore.open(tmp_path / "real.db") as store:
        found = await active(store)

    assert found == {b"1": RECORD}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
async def test_a_link_of_another_user_is_not_followed(tmp_path: Path, file: Path) -> None:
    """A link that belongs to another user, who can write to the folder, is an error."""
    os.symlink(tmp_path / "new.db", file)
    os.chown(file, 12345, 12345, follow_symlinks=False)

    with pytest.raises(ConfigError, match="it is a symbolic link of another user: delete it"):
        async with KeyStore.open(file):
            pass
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
async def test_links_in_place_of_side_files_are_not_followed(
    tmp_path: Path, file: Path, suffix: str
) -> None:
    """Links in place of side files are an error, and their targets do not change."""
    (tmp_path / "precious").write_text("content")
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
    os.symlink(tmp_path / "precious", f"{file}{suffix}")

    with pytest.raises(ConfigError, match="unable to open database file"):
        async with KeyStore.open(file) as store:
            await store.list()
    assert (tmp_path / "precious").read_text() == "content"


async def test_a_second_opening_keeps_the_locks_of_the_first(file: Path) -> None:
    """A store that is opened again keeps its WAL while another process opens and closes the file.

    A process deletes the WAL if it finds no lock of another process on the file.
    """
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
        async with KeyStore.open(file) as second:
            await second.list()
        command = [sys.executable, "-c", READ_ALL, str(file)]
        subprocess.run(command, check=True)  # noqa: ASYNC221, S603 - our own program
        is_kept = f"{file.name}-wal" in names_in(file.parent)
        found = await active(store)

    assert is_kept
    assert found == {b"1": RECORD}


async def test_a_named_pipe_is_not_a_store(file: Path) -> None:
    """A named pipe as key store is an error, without a wait for the pipe's other end."""
    os.mkfifo(file)

    with pytest.raises(ConfigError, match="it is not a file"):
        async with KeyStore.open(file):
            pass


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE alembic_version SET version_num = 'abc123'", "database of another program"),
        ("UPDATE alembic_version SET version_num = X'00'", "database of another program"),
        ("UPDATE alembic_version SET version_num = '0001'", "of a development version before"),
        ("DELETE FROM alembic_version", "already exists"),
        ("DROP TABLE idempotency_records", "the tables idempotency_records are missing: "),
    ],
)
async def test_a_damaged_schema_is_reported(file: Path, sql: str, problem: str) -> None:
    """A damaged schema gives one error line without a traceback."""
    async with KeyStore.open(file):
        pass
    with closing(sqlite3.connect(file)) as other:
        other.execute(sql)
        other.commit()

    with pytest.raises(ConfigError) as refusal:
        async with KeyStore.open(file):
            pass
    (text,) = refusal.value.problems
    assert text.startswith("access.database: ")
    assert problem in text


async def test_a_store_of_a_later_version_is_used(file: Path) -> None:
    """A store with tables and columns of a later version works, because migrations only add."""
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
    with closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE alembic_version SET version_num = '0099'")
        other.execute("CREATE TABLE later (id INTEGER)")
        other.execute("ALTER TABLE api_keys ADD COLUMN later VARCHAR")
        other.commit()
    async with KeyStore.open(file) as store:
        found = await active(store)

    assert found == {b"1": RECORD}
