"""The commands that make, list and revoke keys."""

import asyncio
import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateway.commands.cli import main
from gateway.storage.key_store import KeyRecord, KeyStore
from gateway.table.header import ALL_COLUMNS, ColumnGrant
from tests.journeys.process import COMMAND, ENVIRONMENT

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
    assert record.grants.columns == columns


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        pytest.param("paid", ["set plans.paid.deletes to true"], id="plan without deletes"),
        pytest.param("staff", [], id="plan with deletes"),
    ],
)
def test_deleting_is_an_option(
    command: Command, tmp_path: Path, database: Path, plan: str, words: list[str]
) -> None:
    """A key may delete if it was made so; a warning says what its plan lacks for it."""
    with (tmp_path / "config.toml").open("a") as config:
        config.write("[plans.staff]\ndeletes = true\n")
    done = command(
        *("create", "--name", "n", "--spreadsheet", "one", "--json", "--delete", "--plan", plan)
    )
    (record,) = kept(database)

    assert done.exit_code == 0
    assert set(json.loads(done.stdout)) == {"id", "key"}
    assert record.grants.may_delete
    assert len(done.stderr.splitlines()) == len(words)
    assert all(word in done.stderr for word in words)


def test_looking_creates_no_key_store(command: Command, database: Path) -> None:
    """`list` and `revoke` name the file that does not exist; for a script the list is empty."""
    listed, as_json, revoked = (
        command("list"),
        command("list", "--json"),
        command("revoke", "key_x"),
    )

    assert [each.exit_code for each in (listed, as_json, revoked)] == [0, 0, 2]
    assert as_json.stdout == "[]\n"
    assert [f"{database} does not exist" in each.stderr for each in (listed, as_json, revoked)] == [
        True,
        True,
        True,
    ]
    assert not database.exists()


def test_the_right_to_delete_is_listed(command: Command) -> None:
    """Beside those to read and to write, for people and as JSON."""
    command("create", "--name", "deleter", "--spreadsheet", "one", "--delete")
    command("create", "--name", "writer", "--spreadsheet", "one")
    lines = [re.split(" {2,}", line) for line in command("list").stdout.splitlines()]
    listed = {
        each["name"]: each["mayDelete"] for each in json.loads(command("list", "--json").stdout)
    }

    assert {line[-2]: line[lines[0].index("MAY")] for line in lines[1:]} == {
        "deleter": "read, write, delete",
        "writer": "read, write",
    }
    assert listed == {"deleter": True, "writer": False}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        pytest.param(["--column", "a", "--writable-column", "b"], "'b' is not among", id="unseen"),
        pytest.param(["--column", ""], "--column: '' cannot be", id="blank"),
        pytest.param(["--delete", "--read-only"], "--delete: a key that is", id="deleting reader"),
        pytest.param(["--plan", "gold"], "--plan: 'gold' is not configured", id="plan"),
    ],
)
def test_a_mistake_makes_no_key(
    command: Command, database: Path, options: list[str], complaint: str
) -> None:
    """A line names the problem; the exit status is 2."""
    done = command("create", "--name", "n", "--spreadsheet", "one", *options)

    assert (done.exit_code, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert kept(database) == []


def test_keys_are_listed_with_their_use_and_columns(command: Command, database: Path) -> None:
    """The hour of the last use, and what a key is kept to, for people and as JSON."""
    command("create", "--name", "free", "--spreadsheet", "one", "--spreadsheet", "2")
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
    lines = [re.split(" {2,}", line) for line in command("list").stdout.splitlines()]
    told = {line[-2]: dict(zip(lines[0], line, strict=True)) for line in lines[1:]}
    listed = {each["name"]: each for each in json.loads(command("list", "--json").stdout)}

    assert {name: line["LIMITED TO"] for name, line in told.items()} == {
        "free": "spreadsheets: 2, one",
        "narrow": 'spreadsheets: one; columns: "a", "b"; writes: "a"',
        "writer": 'spreadsheets: one; writes: "a"',
    }
    assert told["narrow"]["LAST USED"] == "2026-03-01 12h"
    assert told["free"]["LAST USED"] == "never"
    assert [
        listed["narrow"][member] for member in ("columns", "writableColumns", "lastUsedAt")
    ] == [["a", "b"], ["a"], "2026-03-01T12:00:00+00:00"]
    assert [listed["free"][member] for member in ("columns", "writableColumns", "lastUsedAt")] == [
        None,
        None,
        None,
    ]


def test_all_that_a_key_may_do_is_listed(command: Command, database: Path) -> None:
    """In a table with a header, each column at its place."""
    command(
        *("create", "--name", "web site", "--spreadsheet", "one", "--worksheet", "a, b"),
        *("--read-only", "--origin", "https://a.example", "--expires", "2999-12-31"),
    )
    command("create", "--name", "wide", "--any-spreadsheet", "--plan", "free")
    narrow, wide = kept(database)
    header, *lines = command("list").stdout.splitlines()

    assert header.split("  ")[0] == "ID"
    assert [re.split(" {2,}", line) for line in lines] == [
        [
            *(narrow.id, f"…{narrow.last4}", "active", "paid", "read", "never"),
            *("2999-12-31 00:00", "web site"),
            'spreadsheets: one; worksheets: "a, b"; origins: https://a.example',
        ],
        [
            *(wide.id, f"…{wide.last4}", "active", "free", "read, write", "never", "never"),
            *("wide", "any spreadsheet"),
        ],
    ]
    assert {line.index("web site") for line in lines[:1]} == {header.index("NAME")}


def test_empty_list_of_keys(command: Command) -> None:
    """The output says how to create one."""
    header, line = command("list").stdout.splitlines()

    assert header.startswith("ID")
    assert "create one: sheets-gateway keys create" in line


def test_a_script_gets_a_new_key_in_one_line(command: Command, database: Path) -> None:
    """Without a terminal, the line is the ID and the key, separated by two blanks."""
    done = command("create", "--name", "n", "--spreadsheet", "one")
    (record,) = kept(database)

    assert re.fullmatch(rf"{record.id}  sgw_\w+{record.last4}\n", done.stdout)


def test_output_for_a_terminal_is_labelled(
    command: Command, tmp_path: Path, database: Path
) -> None:
    """On a terminal the id and the key are named, and that the key is shown this once."""
    arguments = ("keys", "create", "--name", "n", "--spreadsheet", "one")
    terminal, end = pty.openpty()
    try:
        done = subprocess.run(  # noqa: S603  (our own command)
            [*COMMAND, *arguments, "--config", str(tmp_path / "config.toml")],
            stdout=end,
            env=ENVIRONMENT,
            timeout=60,
            check=False,
        )
        told = os.read(terminal, 10_000).decode()
    finally:
        os.close(end)
        os.close(terminal)
    (record,) = kept(database)

    assert done.returncode == 0
    assert re.fullmatch(
        rf"id   {record.id}\r\nkey  sgw_\w+{record.last4}  \(shown only once\)\r\n", told
    )


def test_names_of_a_key_do_not_write_to_the_terminal(command: Command) -> None:
    """Lines and JSON have escapes for control characters; the columns stay aligned."""
    nasty = "a\x1b[2J\x7f\x9b\u202eb\u2028"
    made = command("create", "--name", "x", "--spreadsheet", "s", "--worksheet", nasty)
    plain, as_json = command("list"), command("list", "--json")

    assert made.exit_code == 0
    for done in (plain, as_json):
        assert [each for each in done.output if not each.isprintable() and each != "\n"] == []
    assert "a\\u001b[2J\\x7f\\x9b\\u202eb\\u2028" in plain.output
    assert json.loads(as_json.output)[0]["worksheets"] == [nasty]
