"""Tests of creating and editing API keys."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from gateway.access.issue import create_key, rotate_key, update_key
from gateway.access.keys import is_well_formed
from gateway.settings.model import ConfigError, Settings
from gateway.storage.key_store import Grants, KeyRecord, KeyRequest, KeyStore
from gateway.table.header import ColumnGrant
from tests.access.conftest import NOW

PEPPER = b"a pepper of 32 bytes, as if drawn"
COLUMNS = ColumnGrant(frozenset({"name", "state"}), frozenset({"state"}))
REQUEST = KeyRequest(name="demo", grants=Grants(spreadsheets=frozenset({"one"})))


async def issue(store: KeyStore, request: KeyRequest) -> tuple[KeyRecord, str]:
    """Store a new key and return it."""
    return await create_key(request, store=store, pepper=PEPPER, plans=Settings().plans, now=NOW)


async def test_a_new_key_is_stored_as_requested(store: KeyStore) -> None:
    """The record of a new key has the values of the request, in the types of the store."""
    request = KeyRequest(
        name="demo",
        plan="free",
        grants=Grants(
            spreadsheets=frozenset({"one", "two"}),
            worksheets=frozenset({"Cities"}),
            origins=frozenset({"HTTPS://A.org:443"}),
            columns=COLUMNS,
        ),
        expires_at=datetime(2026, 3, 2, tzinfo=timezone(timedelta(hours=2))),
    )
    record, key = await issue(store, request)

    assert await store.list() == [record]
    assert is_well_formed(key)
    assert record == KeyRecord(
        id=record.id,
        name="demo",
        last4=key[-4:],
        plan="free",
        grants=Grants(
            spreadsheets=frozenset({"one", "two"}),
            worksheets=frozenset({"Cities"}),
            may_update=True,
            origins=frozenset({"https://a.org"}),
            columns=COLUMNS,
        ),
        created_at=NOW,
        expires_at=datetime(2026, 3, 1, 22, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            {"grants": replace(REQUEST.grants, may_create=False, may_update=False)}, id="read-only"
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, columns=ColumnGrant(frozenset({"name"})))},
            id="columns",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, columns=ColumnGrant(None, frozenset({"name"})))},
            id="written columns",
        ),
        pytest.param(
            {
                "grants": replace(
                    REQUEST.grants,
                    may_create=False,
                    may_update=False,
                    columns=ColumnGrant(frozenset({"a"})),
                )
            },
            id="both",
        ),
        pytest.param(
            {
                "grants": replace(
                    REQUEST.grants,
                    columns=ColumnGrant(frozenset({"\u00e4"}), frozenset({"a\u0308"})),
                )
            },
            id="a written column in another spelling",
        ),
        pytest.param({"grants": replace(REQUEST.grants, may_delete=True)}, id="delete"),
    ],
)
async def test_each_grant_is_stored_unchanged(store: KeyStore, change: dict[str, object]) -> None:
    """Each grant is stored separately, and the defaults of the other grants do not change."""
    request = replace(REQUEST, **change)  # type: ignore[arg-type]
    record, _ = await issue(store, request)

    assert await store.list() == [record]
    assert record.grants == request.grants


async def test_format_of_key_ids(store: KeyStore) -> None:
    """A key's ID is `key_` and 8 base62 digits, drawn independently of the key."""
    record, key = await issue(store, REQUEST)

    assert record.id.startswith("key_")
    assert len(record.id) == 12
    assert record.id[4:].isalnum()
    assert record.id[4:] not in key


async def test_the_store_holds_no_usable_key(store: KeyStore, database: Path) -> None:
    """The files of the store contain no 8 successive characters of a key, and not the pepper."""
    keys = [(await issue(store, REQUEST))[1] for _ in range(20)]
    dump = b"".join(path.read_bytes() for path in database.parent.iterdir())
    parts = [key[at : at + 8].encode() for key in keys for at in range(len(key) - 7)]

    assert all(key[-4:].encode() in dump for key in keys)
    assert not [part for part in parts if part in dump]
    assert PEPPER not in dump
    assert PEPPER.hex().encode() not in dump


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param({"name": " "}, "--name: ", id="blank name"),
        pytest.param({"name": "n" * 201}, "--name: ", id="long name"),
        pytest.param({"name": "a\nb"}, "--name: ", id="line end in the name"),
        pytest.param({"name": "\udcff"}, "--name: ", id="name with a lone surrogate"),
        pytest.param({"plan": "gold"}, "--plan: 'gold' .* free, paid", id="unknown plan"),
        pytest.param(
            {"grants": replace(REQUEST.grants, spreadsheets=frozenset())},
            "--spreadsheet: name",
            id="no spreadsheet",
        ),
        pytest.param(
            {
                "grants": replace(
                    REQUEST.grants,
                    spreadsheets=frozenset({"https://docs.google.com/spreadsheets/d/x/edit"}),
                )
            },
            "--spreadsheet: .*between /d/ and /edit",
            id="URL for an id",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, worksheets=frozenset())},
            "--worksheet: name",
            id="no worksheet",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, worksheets=frozenset({""}))},
            "--worksheet: ''",
            id="blank worksheet",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, worksheets=frozenset({"\ud800"}))},
            r"--worksheet: '\\ud800'",
            id="surrogate",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, columns=ColumnGrant(frozenset()))},
            "--column: name at least",
            id="no column",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, columns=ColumnGrant(None, frozenset()))},
            "--writable-column: name at least",
            id="no written column",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, columns=ColumnGrant(frozenset({" "})))},
            "--column: ' ' cannot",
            id="blank column",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, columns=ColumnGrant(None, frozenset({"\ud800"})))},
            r"--writable-column: '\\ud800' cannot",
            id="column with a lone surrogate",
        ),
        pytest.param(
            {
                "grants": replace(
                    REQUEST.grants, columns=ColumnGrant(frozenset({"a"}), frozenset({"a", "b"}))
                )
            },
            "--writable-column: 'b' is not among the columns",
            id="written and not seen",
        ),
        pytest.param(
            {
                "grants": replace(
                    REQUEST.grants, columns=ColumnGrant(frozenset({"a"}), frozenset({"a "}))
                )
            },
            "--writable-column: 'a ' is not among the columns",
            id="written under another spelling",
        ),
        pytest.param(
            {
                "grants": replace(
                    REQUEST.grants,
                    columns=ColumnGrant(None, frozenset({"a"})),
                    may_create=False,
                    may_update=False,
                )
            },
            "--writable-column: .*read-only",
            id="written by a read-only key",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, may_read=False, may_update=False, may_delete=True)},
            "--may: .*without read",
            id="delete without read",
        ),
        pytest.param(
            {"grants": replace(REQUEST.grants, origins=frozenset({"https://a.org/"}))},
            "--origin: 'https://a.org/'",
            id="origin",
        ),
        pytest.param({"expires_at": NOW}, "--expires: .*in the future", id="expires now"),
        pytest.param(
            {"expires_at": datetime(2030, 1, 1)}, "--expires: .*time zone", id="no time zone"
        ),
    ],
)
async def test_invalid_key_requests(
    store: KeyStore, change: dict[str, object], problem: str
) -> None:
    """The error of an invalid request names the wrong field, and no key is stored."""
    with pytest.raises(ConfigError, match=f"^{problem}") as refusal:
        await issue(store, replace(REQUEST, **change))  # type: ignore[arg-type]

    assert len(refusal.value.problems) == 1
    assert await store.list() == []


async def test_all_mistakes_are_reported_at_once(store: KeyStore) -> None:
    """One error lists all mistakes of a request."""
    request = KeyRequest(
        name="",
        plan="gold",
        grants=Grants(
            spreadsheets=frozenset({"a b", "c d"}),
            worksheets=frozenset({""}),
            columns=ColumnGrant(frozenset({"a"}), frozenset({"b"})),
            origins=frozenset({"*"}),
        ),
        expires_at=NOW - timedelta(days=1),
    )
    with pytest.raises(ConfigError) as refusal:
        await issue(store, request)

    assert [problem.partition(":")[0] for problem in refusal.value.problems] == [
        "--name",
        "--plan",
        "--spreadsheet",
        "--spreadsheet",
        "--worksheet",
        "--writable-column",
        "--origin",
        "--expires",
    ]


async def test_an_edit_of_an_outdated_record_changes_nothing(store: KeyStore) -> None:
    """An edit based on an outdated version of a key fails if any field changed; a use or
    a rotation does not count as a change.
    """
    record, _ = await issue(store, REQUEST)
    how: Any = {"store": store, "plans": Settings().plans, "now": NOW}
    await store.touch(record.id, NOW)
    await rotate_key(record, store=store, pepper=PEPPER, overlap=timedelta(days=1), now=NOW)

    first = await update_key(record, replace(REQUEST, name="first"), **how)
    late = await update_key(record, replace(REQUEST, plan="free"), **how)

    assert first is not None
    assert late is None
    assert [(each.name, each.plan) for each in await store.list()] == [("first", "paid")]
