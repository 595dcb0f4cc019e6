"""The commands that make, list and revoke keys."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.access.store import KeyRecord, KeyStore
from gateway.cli import main
from gateway.rows.view import ALL_COLUMNS, ColumnGrant

Command = Callable[..., Result]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "keys.db"


@pytest.fixture
def command(tmp_path: Path, database: Path) -> Command:
    """Carries out `sheets-gateway keys`."""
    config = tmp_path / "config.toml"
    config.write_text(f"[access]\ndatabase = {json.dumps(str(database))}\n")

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["keys", *arguments, "--config", str(config)])

    return run


def kept(database: Path) -> list[KeyRecord]:
    """The records of the store."""

    async def fetch() -> list[KeyRecord]:
        async with KeyStore.open(database) as store:
            return list(await store.list())

    return asyncio.run(fetch())


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        pytest.param([], ALL_COLUMNS, id="none"),
        pytest.param(
            ["--column", "name", "--column", " a,b"],
            ColumnGrant(frozenset({"name", " a,b"})),
            id="seen",
        ),
        pytest.param(
            ["--writable-column", "name"], ColumnGrant(None, frozenset({"name"})), id="written"
        ),
        pytest.param(
            ["--column", "name", "--column", "state", "--writable-column", "state"],
            ColumnGrant(frozenset({"name", "state"}), frozenset({"state"})),
            id="both",
        ),
    ],
)
def test_columns_are_options(
    command: Command, database: Path, options: list[str], columns: ColumnGrant
) -> None:
    """A key is kept to the columns that are named, all if none are; names may hold commas."""
    done = command("create", "--name", "n", "--spreadsheet", "one", "--json", *options)
    (record,) = kept(database)

    assert done.exit_code == 0
    assert set(json.loads(done.stdout)) == {"id", "key"}
    assert record.columns == columns
    assert not record.formulas


def test_formulas_are_an_option(command: Command, database: Path) -> None:
    """A key writes formulas if it was made so."""
    done = command("create", "--name", "n", "--spreadsheet", "one", "--formulas")
    (record,) = kept(database)

    assert done.exit_code == 0
    assert record.formulas


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        pytest.param(["--column", "a", "--writable-column", "b"], "'b' is not among", id="unseen"),
        pytest.param(["--column", ""], "--column: '' cannot be", id="blank"),
        pytest.param(["--column", "a", "--formulas"], "--formulas: a formula shows", id="formula"),
        pytest.param(["--plan", "gold"], "--plan: 'gold' is not configured", id="plan"),
    ],
)
def test_a_mistake_makes_no_key(
    command: Command, database: Path, options: list[str], complaint: str
) -> None:
    """What is wrong is said in a line, with exit status 2."""
    done = command("create", "--name", "n", "--spreadsheet", "one", *options)

    assert (done.exit_code, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert kept(database) == []


def test_keys_are_listed_with_their_use_and_columns(command: Command, database: Path) -> None:
    """The hour of the last use, and what a key is kept to, for people and as JSON."""
    command("create", "--name", "free", "--spreadsheet", "one")
    command(
        *("create", "--name", "narrow", "--spreadsheet", "one"),
        *("--column", "b", "--column", "a", "--writable-column", "a"),
    )
    command("create", "--name", "writer", "--spreadsheet", "one", "--writable-column", "a")
    used = next(record.id for record in kept(database) if record.name == "narrow")

    async def use() -> None:
        async with KeyStore.open(database) as store:
            await store.touch(used, datetime(2026, 3, 1, 12, 30, tzinfo=UTC))

    asyncio.run(use())
    lines = {line.split("  ")[-1].strip(): line for line in command("list").stdout.splitlines()}
    listed = {each["name"]: each for each in json.loads(command("list", "--json").stdout)}

    assert sorted(lines) == [
        '[columns: "a", "b"; writes "a"]',
        '[columns: all; writes "a"]',
        "free",
    ]
    assert "2026-03-01 12h" in lines['[columns: "a", "b"; writes "a"]']
    assert "never used" in lines["free"]
    assert [
        listed["narrow"][member]
        for member in ("columns", "writableColumns", "formulas", "lastUsedAt")
    ] == [["a", "b"], ["a"], False, "2026-03-01T12:00:00+00:00"]
    assert [
        listed["free"][member]
        for member in ("columns", "writableColumns", "formulas", "lastUsedAt")
    ] == [None, None, False, None]
