"""`storage migrate` and `storage copy` to PostgreSQL."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.access.keys import digest
from gateway.commands.cli import main
from gateway.settings.database import PostgresUrl
from gateway.storage.key_store import Grants, KeyRecord, KeyRequest, KeyStore
from gateway.storage.lock import exclusive_lock, session_lock
from tests.journeys.conftest import create_keys
from tests.postgres import PASSWORD, PostgresServer
from tests.storage.by_hand import execute

Command = Callable[..., Result]


@pytest.fixture
def empty(postgres: PostgresServer) -> PostgresUrl:
    """Create a database without tables."""
    return postgres.new_database(is_migrated=False)


@pytest.fixture
def config(tmp_path: Path, empty: PostgresUrl) -> Path:
    """Write a configuration with the database, and with the pepper of the SQLite store."""
    config = tmp_path / "config.toml"
    config.touch(0o600)
    config.write_text(
        f"[access]\ndatabase = {json.dumps(empty.url.get_secret_value())}\n"
        'pepper_file = "keys.db.pepper"\n'
    )
    return config


@pytest.fixture
def command(config: Path) -> Command:
    """Return a function that runs `sheets-gateway`, and fails if the output has the password."""

    def run(*arguments: str) -> Result:
        result = CliRunner().invoke(main, [*arguments, "--config", str(config)])
        assert PASSWORD not in result.output + str(result.exception)
        return result

    return run


@pytest.fixture
def source(tmp_path: Path) -> tuple[Path, str]:
    """Create a SQLite store with a key, and return file and key."""
    file = tmp_path / "keys.db"
    keys = asyncio.run(
        create_keys(file, {"old": KeyRequest(name="old", grants=Grants(spreadsheets=None))})
    )
    return file, keys["old"]


def records(database: PostgresUrl) -> list[KeyRecord]:
    async def fetch() -> list[KeyRecord]:
        async with KeyStore.open(database) as store:
            return list(await store.list())

    return asyncio.run(fetch())


def test_a_database_is_migrated_before_its_first_key(command: Command, empty: PostgresUrl) -> None:
    """Commands name `storage migrate` if the tables are missing; a second migration
    changes nothing.
    """
    created = ["keys", "create", "--name", "new", "--any-spreadsheet", "--json"]
    too_early = command(*created)
    migrated = [command("storage", "migrate") for _ in range(2)]
    result = command(*created)

    assert too_early.exit_code == 2
    assert "run `sheets-gateway storage migrate`" in too_early.output
    assert [each.output for each in migrated] == [f"{empty} has the tables of schema 0008\n"] * 2
    assert result.exit_code == 0
    assert [record.name for record in records(empty)] == ["new"]


def test_a_file_is_migrated_too(tmp_path: Path) -> None:
    """`storage migrate` without settings creates the default file next to the configuration."""
    config = tmp_path / "config.toml"
    config.touch()
    result = CliRunner().invoke(main, ["storage", "migrate", "--config", str(config)])

    assert result.output == f"{tmp_path / 'keys.db'} has the tables of schema 0008\n"
    assert (tmp_path / "keys.db").exists()


def test_a_deployment_moves_with_its_keys(
    command: Command, empty: PostgresUrl, source: tuple[Path, str]
) -> None:
    """After `storage copy`, keys of the SQLite file are valid on PostgreSQL with the same
    pepper.
    """
    file, key = source
    result = command("storage", "copy", "--from", str(file))
    checked = command("keys", "create", "--name", "new", "--any-spreadsheet", "--json")

    assert result.exit_code == 0
    assert result.output.startswith(f"Copied 1 key and 0 records of writes from {file} to {empty}")
    assert checked.exit_code == 0
    assert [record.name for record in records(empty)] == ["old", "new"]
    pepper = file.with_name("keys.db.pepper").read_bytes()
    assert execute(empty, "SELECT name FROM api_keys WHERE digest = $1", digest(key, pepper)) == [
        ("old",)
    ]


def test_a_copy_needs_a_source_and_a_server(
    command: Command, empty: PostgresUrl, source: tuple[Path, str], tmp_path: Path
) -> None:
    """`storage copy` rejects a missing source, a file as target and other databases."""
    file, _ = source
    copy = ("storage", "copy", "--from")
    missing = command(*copy, str(tmp_path / "none.db"))
    same = command(*copy, str(file), "--to", str(file))
    malformed = command(*copy, str(file), "--to", f"mysql://gateway:{PASSWORD}@h/n")

    assert "none.db does not exist" in missing.output
    assert "--to: must be the URL of a PostgreSQL database" in same.output
    assert "--to: must be the name of a file, or postgresql://" in malformed.output
    assert {each.exit_code for each in (missing, same, malformed)} == {2}
    assert not (tmp_path / "none.db").exists()


def test_errors_of_a_copy_name_the_option(
    command: Command, config: Path, source: tuple[Path, str]
) -> None:
    """An unusable database is reported with the option that names it."""
    file, _ = source
    unreachable = "postgresql://127.0.0.1:1/x"
    from_config = command("storage", "copy", "--from", str(config))
    to_nowhere = command("storage", "copy", "--from", str(file), "--to", unreachable)

    assert from_config.stderr == (
        f"sheets-gateway: --from: {config} cannot be used as the key store: "
        "file is not a database\n"
    )
    assert to_nowhere.stderr.startswith(f"sheets-gateway: --to: {unreachable} cannot be used")
    assert (from_config.exit_code, to_nowhere.exit_code) == (2, 2)


def test_stores_in_use_are_not_copied(
    command: Command, empty: PostgresUrl, source: tuple[Path, str]
) -> None:
    """`storage copy` fails while a gateway uses the source or the target."""
    file, _ = source
    command("storage", "migrate")
    with exclusive_lock(file):
        from_used = command("storage", "copy", "--from", str(file))
    with session_lock(empty):
        to_used = command("storage", "copy", "--from", str(file))

    assert f"already uses the key store {file}" in from_used.output
    assert f"already uses the key store {empty}" in to_used.output
    assert {from_used.exit_code, to_used.exit_code} == {1}
    assert records(empty) == []
