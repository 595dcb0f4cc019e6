"""Commands that create, list and revoke keys."""

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
from gateway.telemetry.events import RequestEvent, request_done, tallies
from tests.journeys.process import COMMAND, ENVIRONMENT

Command = Callable[..., Result]
FOLLOWS = "A running gateway applies the change within 5 s.\n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "keys.db"


@pytest.fixture
def command(tmp_path: Path, database: Path) -> Command:
    """Return a function that runs `sheets-gateway keys`."""
    config = tmp_path / "config.toml"
    config.write_text(f"[access]\ndatabase = {json.dumps(str(database))}\n")

    def run(*arguments: str) -> Result:
        unchecked = ["--no-check"] if arguments[0] in ("create", "update") else []
        return CliRunner().invoke(main, ["keys", *arguments, *unchecked, "--config", str(config)])

    return run


def kept(database: Path) -> list[KeyRecord]:
    """Return the records of the store."""

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
    """`--column` and `--writable-column` restrict a key to these columns; without options
    all are allowed.
    """
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
    """`--delete` gives delete rights; a plan without deletes gives a warning."""
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


def test_reading_creates_no_key_store(command: Command, database: Path) -> None:
    """`list` and `revoke` without a store name the missing file, and `list --json` prints []."""
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


@pytest.mark.parametrize("name", ["report", "log"])
def test_a_report_creates_no_key_store(command: Command, database: Path, name: str) -> None:
    """`report` and `log` without a store are empty and name the missing file."""
    plain, as_json = command(name), command(name, "--json")

    assert (plain.exit_code, as_json.exit_code, as_json.stdout) == (0, 0, "[]\n")
    assert len(plain.stdout.splitlines()) == 1
    assert f"{database} does not exist" in plain.stderr
    assert not database.exists()


def test_the_right_to_delete_is_listed(command: Command) -> None:
    """`keys list` shows delete rights in its table and in JSON."""
    command("create", "--name", "deleter", "--spreadsheet", "one", "--delete")
    command("create", "--name", "writer", "--spreadsheet", "one")
    lines = [re.split(" {2,}", line) for line in command("list").stdout.splitlines()]
    listed = {
        each["name"]: each["mayDelete"] for each in json.loads(command("list", "--json").stdout)
    }

    assert {line[-2]: line[lines[0].index("MAY")] for line in lines[1:]} == {
        "deleter": "read, create, update, delete",
        "writer": "read, create, update",
    }
    assert listed == {"deleter": True, "writer": False}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        pytest.param(["--column", "a", "--writable-column", "b"], "'b' is not among", id="unseen"),
        pytest.param(["--column", ""], "--column: '' cannot be", id="blank"),
        pytest.param(
            ["--delete", "--read-only"], "--delete: a --read-only key", id="deleting reader"
        ),
        pytest.param(["--plan", "gold"], "--plan: 'gold' is not configured", id="plan"),
        pytest.param(
            ["--next", "https://a.example/"], "--next: only for forms", id="next page of a reader"
        ),
        pytest.param(["--turnstile"], "--turnstile: only for forms", id="Turnstile of a reader"),
        *(
            pytest.param(["--may", "create", "--next", url], "--next: '", id=f"next page {url}")
            for url in ("/thanks", "javascript:alert(1)", "https://u@a.example/", "ftp://a.example")
        ),
    ],
)
def test_an_error_creates_no_key(
    command: Command, database: Path, options: list[str], complaint: str
) -> None:
    """An invalid option prints one line, exits with 2, and creates no key."""
    done = command("create", "--name", "n", "--spreadsheet", "one", *options)

    assert (done.exit_code, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert kept(database) == []


def test_keys_are_listed_with_their_use_and_columns(command: Command, database: Path) -> None:
    """`keys list` shows the hour of the last use and the granted columns, in the table
    and in JSON.
    """
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


def test_all_grants_of_a_key_are_listed(command: Command, database: Path) -> None:
    """`keys list` prints an aligned table with all grants of each key."""
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
            *(
                wide.id,
                f"…{wide.last4}",
                "active",
                "free",
                "read, create, update",
                "never",
                "never",
            ),
            *("wide", "any spreadsheet"),
        ],
    ]
    assert {line.index("web site") for line in lines[:1]} == {header.index("NAME")}


def test_options_for_forms(command: Command, database: Path) -> None:
    """`--next` is normalised and `--turnstile` is stored; `update` changes or removes both."""
    form = ("--next", "HTTPS://a.example:443/Thanks?x#y", "--turnstile")
    command("create", "--name", "form", "--spreadsheet", "one", "--may", "create", *form)
    (made,) = kept(database)
    (listed,) = json.loads(command("list", "--json").stdout)
    shown = command("list").stdout
    command("update", made.id, "--next", "", "--no-turnstile")
    (ended,) = kept(database)

    assert (made.grants.next_url, made.grants.needs_challenge) == (
        "https://a.example/Thanks?x#y",
        True,
    )
    assert (listed["next"], listed["turnstile"]) == ("https://a.example/Thanks?x#y", True)
    assert "forms go to https://a.example/Thanks?x#y; Turnstile" in shown
    assert (ended.grants.next_url, ended.grants.needs_challenge) == ("", False)


def test_empty_list_of_keys(command: Command) -> None:
    """Without keys, `keys list` says how to create one."""
    header, line = command("list").stdout.splitlines()

    assert header.startswith("ID")
    assert "create one: sheets-gateway keys create" in line


def test_a_script_gets_a_new_key_in_one_line(command: Command, database: Path) -> None:
    """Without a terminal, `keys create` prints ID and key in one line, separated by two blanks."""
    done = command("create", "--name", "n", "--spreadsheet", "one")
    (record,) = kept(database)

    assert re.fullmatch(rf"{record.id}  sgw_\w+{record.last4}\n", done.stdout)


def test_output_for_a_terminal_is_labelled(
    command: Command, tmp_path: Path, database: Path
) -> None:
    """On a terminal, `keys create` labels ID and key, and says that the key is shown only once."""
    arguments = ("keys", "create", "--name", "n", "--spreadsheet", "one", "--no-check")
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
    """`keys list` escapes control characters in names, in the table and in JSON."""
    nasty = "a\x1b[2J\x7f\x9b\u202eb\u2028"
    made = command("create", "--name", "x", "--spreadsheet", "s", "--worksheet", nasty)
    plain, as_json = command("list"), command("list", "--json")

    assert made.exit_code == 0
    for done in (plain, as_json):
        assert [each for each in done.output if not each.isprintable() and each != "\n"] == []
    assert "a\\u001b[2J\\x7f\\x9b\\u202eb\\u2028" in plain.output
    assert json.loads(as_json.output)[0]["worksheets"] == [nasty]


def created(command: Command, *options: str) -> dict[str, str]:
    """Create a key, and return its ID and secret."""
    done = command("create", "--name", "n", "--spreadsheet", "one", "--json", *options)
    assert done.exit_code == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("options", "rights"),
    [
        ([], ["read", "create", "update"]),
        (["--read-only"], ["read"]),
        (["--delete"], ["read", "create", "update", "delete"]),
        (["--may", "create"], ["create"]),
        (["--may", "read, delete"], ["read", "delete"]),
        (["--may", "read,create,update,delete"], ["read", "create", "update", "delete"]),
    ],
)
def test_rights_are_an_option(
    command: Command, database: Path, options: list[str], rights: list[str]
) -> None:
    """`--may` sets the rights; `--read-only` and `--delete` are shortcuts."""
    created(command, *options)
    (record,) = kept(database)
    (listed,) = json.loads(command("list", "--json").stdout)

    assert record.grants.rights == listed["may"] == rights


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--may", "write"], "--may: write is not among read, create, update, delete"),
        (["--may", ""], "--may: name at least one"),
        (["--may", "create,update"], "--may: a key without read can only create"),
        (["--may", "create", "--refresh"], "--may: a key without read can only create"),
        (["--may", "read", "--delete"], "--may names all rights"),
        (["--may", "read", "--writable-column", "a"], "--writable-column: a read-only key"),
    ],
)
def test_invalid_rights_create_no_key(
    command: Command, database: Path, options: list[str], complaint: str
) -> None:
    """An invalid combination of rights prints one line, exits with 2, and creates no key."""
    done = command("create", "--name", "n", "--spreadsheet", "one", *options)

    assert (done.exit_code, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert not database.exists() or kept(database) == []


def test_a_spreadsheet_can_be_a_url(command: Command, database: Path) -> None:
    """`--spreadsheet` accepts a URL and stores its ID."""
    url = "https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit"
    command("create", "--name", "n", "--spreadsheet", url)
    (record,) = kept(database)

    assert record.grants.spreadsheets == frozenset({"1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"})


def test_a_key_is_changed(command: Command, database: Path) -> None:
    """`keys update` changes only the named fields, and the log has editor and changes."""
    key_id = created(command, "--worksheet", "Cities", "--expires", "2999-12-31")["id"]
    (before,) = kept(database)
    narrowed = command(
        *("update", key_id, "--name", "web", "--may", "read", "--column", "b", "--column", "a"),
        *("--all-worksheets", "--origin", "https://a.example", "--never-expires"),
    )
    same = command("update", key_id, "--name", "web")
    (after,) = kept(database)
    edits = json.loads(command("log", "--key", key_id, "--json").stdout)

    assert narrowed.exit_code == same.exit_code == 0
    assert same.stdout == "nothing changed\n"
    assert [each.stderr for each in (narrowed, same)] == [FOLLOWS, ""]
    assert (after.name, after.plan, after.last4) == ("web", "paid", before.last4)
    assert after.grants.rights == ["read"]
    assert after.grants.columns == ColumnGrant(frozenset({"a", "b"}))
    assert (after.grants.worksheets, after.expires_at) == (None, None)
    assert [each["action"] for each in edits] == ["created", "updated"]
    assert edits[1]["by"]
    assert edits[1]["changes"] == {
        "name": {"from": "n", "to": "web"},
        "worksheets": {"from": ["Cities"], "to": None},
        "columns": {"from": None, "to": ["a", "b"]},
        "may": {"from": ["read", "create", "update"], "to": ["read"]},
        "origins": {"from": [], "to": ["https://a.example"]},
        "expiresAt": {"from": "2999-12-31T00:00:00+00:00", "to": None},
    }
    assert "may: [" in command("log").stdout


def test_a_key_for_every_spreadsheet_gives_a_warning(command: Command) -> None:
    """`keys update --any-spreadsheet` warns once that the key is unrestricted."""
    key_id = created(command)["id"]
    done = [command("update", key_id, each) for each in ("--any-spreadsheet", "--refresh")]

    assert [each.exit_code for each in done] == [0, 0]
    assert ["can use every spreadsheet" in each.stderr for each in done] == [True, False]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["update", "key_x", "--name", "a"], "there is no active key key_x"),
        (["update", "ID", "--plan", "gold"], "--plan: 'gold' is not configured"),
        (["update", "ID", "--may", "create,delete"], "--may: a key without read"),
        (["update", "ID", "--expires", "2000-01-01"], "--expires: must be in the future"),
        *(
            (["update", "ID", *one, other], f"give either {one[0]} or {other}")
            for one, other in (
                (["--spreadsheet", "abc"], "--any-spreadsheet"),
                (["--worksheet", "Cities"], "--all-worksheets"),
                (["--column", "name"], "--all-columns"),
                (["--writable-column", "name"], "--all-writable-columns"),
                (["--refresh"], "--no-refresh"),
                (["--origin", "https://a.example"], "--any-origin"),
                (["--turnstile"], "--no-turnstile"),
                (["--expires", "2999-12-31"], "--never-expires"),
            )
        ),
        (["rotate", "ID", "--overlap", "soon"], "--overlap: 'soon' is not a duration"),
        (["rotate", "ID", "--end"], "has no old secret"),
        (["rotate", "ID", "--end", "--overlap", "7d"], "give either --overlap or --end"),
        (["report", "--key", "key_x"], "there is no key key_x"),
        (
            ["log", "--key", "n", "--json"],
            "give the ID of a key, not its name; n is the name of key_",
        ),
        (["report", "--since", "1w"], "--since: '1w' is not a duration"),
        (["revoke", "n"], "give the ID of a key, not its name; n is the name of key_"),
    ],
)
def test_an_error_changes_no_key(
    command: Command, database: Path, arguments: list[str], complaint: str
) -> None:
    """An invalid argument prints one line, exits with 2, and changes no key."""
    key_id = created(command)["id"]
    before = kept(database)
    done = command(*(key_id if each == "ID" else each for each in arguments))

    assert (done.exit_code, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert kept(database) == before


def test_a_key_is_rotated(command: Command, database: Path) -> None:
    """`keys rotate` keeps the ID; a second rotation fails until the old secret ends."""
    first = created(command)
    done = command("rotate", first["id"], "--overlap", "2h", "--json")
    second = json.loads(done.stdout)
    refused = command("rotate", first["id"])
    listed = command("list").stdout
    ended = command("rotate", first["id"], "--end")
    again = command("rotate", first["id"], "--overlap", "0s")
    (record,) = kept(database)

    assert second["id"] == first["id"]
    assert second["key"] != first["key"]
    assert refused.exit_code == 2
    assert "--end" in refused.stderr
    assert "old secret until" in listed
    assert f"…{second['key'][-4:]} + old" in listed
    assert (ended.exit_code, again.exit_code) == (0, 0)
    assert again.stdout.split()[1].endswith(record.last4)


def test_only_active_keys_are_listed(command: Command) -> None:
    """`keys list --active` omits revoked keys, and a revoked key cannot be changed."""
    kept_id, revoked = created(command)["id"], created(command)["id"]
    done = command("revoke", revoked)
    again = [command("revoke", revoked), command("update", revoked, "--name", "a")]

    assert (done.stdout, done.stderr) == (f"{revoked} is revoked\n", FOLLOWS)
    assert all(f"{revoked} is revoked, which is permanent" in each.stderr for each in again)
    assert [each["id"] for each in json.loads(command("list", "--active", "--json").stdout)] == [
        kept_id
    ]
    assert revoked in command("list").stdout


def test_the_report_has_a_line_for_each_hour_and_key(command: Command, database: Path) -> None:
    """`keys report` has a line for each hour and key, with errors counted by code."""
    key_id = created(command)["id"]
    tallies.use.clear()

    async def use() -> None:
        async with KeyStore.open(database) as store, store.storing_usage(lambda: datetime.now(UTC)):
            for code in (None, None, 4290, 105):
                request_done(RequestEvent("r1", "GET", "/", 200, code, key_id), 0.0, 2, 100)
            request_done(RequestEvent("r1", "GET", "/livez", 200), 0.0, 0, 10)

    asyncio.run(use())
    of_none, of_key = json.loads(command("report", "--json").stdout)
    lines = command("report", "--key", key_id, "--since", "90m").stdout.splitlines()

    assert (of_none["key"], of_none["name"], of_none["requests"]) == (None, None, 1)
    assert of_key["name"] == "n"
    assert {name: of_key[name] for name in ("requests", "refusals", "rows", "bytes")} == {
        "requests": 4,
        "refusals": {"105": 1, "4290": 1},
        "rows": 8,
        "bytes": 400,
    }
    assert len(lines) == 2
    assert re.split(" {2,}", lines[1])[1:] == [
        *(key_id, "4", "105: 1, 4290: 1", "0", "0", "8", "400"),
        "n",
    ]
