"""Commands with a damaged key store print error messages without a traceback."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.commands.cli import main
from gateway.storage.key_store import KeyStore
from tests.storage.test_key_store import RECORD, WIDE

Command = Callable[..., Result]
KEYS_LIST = ["keys", "list"]
KEYS_CREATE = ["keys", "create", "--name", "n", "--any-spreadsheet"]
COMMANDS = (KEYS_LIST, KEYS_CREATE, ["keys", "revoke", WIDE.id])
NOISE = b"\xa5" * 4096


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Create a key store with two keys."""
    file = tmp_path / "keys.db"

    async def fill() -> None:
        async with KeyStore.open(file) as store:
            await store.add(RECORD, b"1")
            await store.add(WIDE, b"2")

    asyncio.run(fill())
    return file


@pytest.fixture
def command(tmp_path: Path, database: Path) -> Command:
    """Return a function that runs `sheets-gateway`."""
    config = tmp_path / "config.toml"
    config.touch(0o600)
    config.write_text(
        f"[access]\ndatabase = {json.dumps(str(database))}\npepper = '{'p' * 20}'\n"
        f"[google]\ncredentials = {json.dumps(str(tmp_path / 'missing.json'))}\n"
    )

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, [*arguments, "--config", str(config)])

    return run


def execute(database: Path, sql: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(sql)
        connection.commit()


def assert_is_sentence(done: Result, *words: str) -> None:
    """Assert one line about `access.database` on standard error, and exit status 1 or 2."""
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    (line,) = done.stderr.splitlines()
    assert line.startswith("sheets-gateway: access.database: ")
    assert all(word in line for word in words)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_a_damaged_key_is_named(command: Command, database: Path, options: list[str]) -> None:
    """`keys list` shows the other keys, names the damaged row, and exits with status 1."""
    execute(database, f"UPDATE api_keys SET may_delete = 'no' WHERE id = '{RECORD.id}'")  # noqa: S608
    done = command("keys", "list", *options)

    assert_is_sentence(
        done, f"the row {RECORD.id} of the table api_keys", "delete the row, or restore"
    )
    assert done.exit_code == 1
    assert WIDE.id in done.stdout
    assert RECORD.id not in done.stdout


def test_check_names_a_damaged_key(command: Command, database: Path) -> None:
    """`check` reports a damaged key and still counts the other keys."""
    execute(database, f"UPDATE api_keys SET origins = 'x' WHERE id = '{RECORD.id}'")  # noqa: S608
    done = command("check")

    assert f"problem  access.database: the row {RECORD.id} of the table api_keys" in done.stdout
    assert "keys: 1 not revoked" in done.stdout


def test_a_damaged_key_can_be_revoked(command: Command, database: Path) -> None:
    """`keys revoke` works on a damaged key."""
    execute(database, f"UPDATE api_keys SET origins = 'x' WHERE id = '{RECORD.id}'")  # noqa: S608

    assert command("keys", "revoke", RECORD.id).exit_code == 0


def damage(database: Path, *, cut: bool) -> None:
    """Truncate the file, or overwrite all but its first two pages."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    content = database.read_bytes()
    noise = NOISE * (len(content) // len(NOISE) - 2)
    database.write_bytes(content[: len(content) // 2] if cut else content[:8192] + noise)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda each: " ".join(each[:2]))
@pytest.mark.parametrize("cut", [True, False], ids=["truncated", "overwritten"])
def test_a_damaged_file_gives_an_error_message(
    command: Command, database: Path, arguments: list[str], cut: bool
) -> None:
    """Every command reports that SQLite found the database file malformed."""
    damage(database, cut=cut)

    assert_is_sentence(command(*arguments), "database disk image is malformed")


@pytest.mark.parametrize("cut", [True, False], ids=["truncated", "overwritten"])
def test_check_reports_a_damaged_file(command: Command, database: Path, cut: bool) -> None:
    """`check` reports a damaged database file as a problem."""
    damage(database, cut=cut)
    done = command("check")

    assert done.exit_code == 1
    assert "problem  access.database: " in done.stdout
    assert "database disk image is malformed" in done.stdout


@pytest.mark.parametrize(
    "sql",
    ["ALTER TABLE api_keys RENAME COLUMN may_delete TO x", "DROP TABLE pepper"],
    ids=["column", "table"],
)
@pytest.mark.parametrize("arguments", [KEYS_LIST, KEYS_CREATE], ids=["list", "create"])
def test_a_missing_table_or_column_gives_an_error_message(
    command: Command, database: Path, arguments: list[str], sql: str
) -> None:
    """A command names the table or column that the database lacks."""
    execute(database, sql)

    assert_is_sentence(command(*arguments), "pepper" if "pepper" in sql else "may_delete")
