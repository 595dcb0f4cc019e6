"""Tests that damaged rows of the key store and of the write ledger do not affect other rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from structlog.testing import capture_logs

from gateway.errors import WriteOutcomeUnknown
from gateway.google.sheets import Fence
from gateway.settings.database import Database, PostgresUrl
from gateway.settings.model import ConfigError
from gateway.storage.damaged_rows import DamagedRow
from gateway.storage.key_store import KeyStore, record_of
from gateway.storage.store_copy import copy_store
from gateway.storage.write_ledger import SqlLedger
from gateway.storage.write_records import BYTES_BESIDE
from gateway.worksheets.idempotency import Entry, Idempotency, OpenWrite, Sending
from gateway.worksheets.writes import Results
from tests.clock import ManualClock
from tests.postgres import PostgresServer
from tests.storage.by_hand import execute
from tests.storage.conftest import FENCE, IDENTITY, NOW, OTHER_IDENTITY, ROWS, WORKSHEET, results
from tests.storage.test_key_store import RECORD, WIDE

NOT_UTF8 = "CAST(X'FFFE' AS TEXT)"
BLOB = "X'FFFE'"
LIST_COLUMNS = ("spreadsheets", "worksheets", "origins", "readable", "writable")
TIMES = ("created_at", "expires_at", "last_used_at")
FLAGS = ("read_only", "may_delete", "may_refresh")
TEXTS = ("id", "name", "last4", "plan", *LIST_COLUMNS, *TIMES)

BAD_KEYS: Sequence[tuple[str, str]] = [
    *((column, garbage) for column in TEXTS for garbage in (NOT_UTF8, BLOB)),
    *((column, f"'{text}'") for column in LIST_COLUMNS for text in ("", "x", "null", "{}", "[1]")),
    *((column, f"'{text}'") for column in TIMES for text in ("x", "2099-01-01", "2099-99-01T00Z")),
    *((column, garbage) for column in FLAGS for garbage in ("'false'", "2", "0.5", "X'00'")),
]
"""Damaged values of columns, as SQL. SQLite stores a value of any type in any column."""

BAD_AT_SERVER = [
    *((column, f"'{text}'") for column in LIST_COLUMNS for text in ("x", "[1]")),
    *((column, "'x'") for column in TIMES),
]


async def assert_key_is_damaged(database: Database, column: str, garbage: str) -> None:
    """Check that a damaged key is neither found nor listed, and that another key is."""
    damaged: list[DamagedRow] = []
    async with KeyStore.open(database) as store:
        await store.add(RECORD, b"1")
        await store.add(WIDE, b"2")
        execute(database, f"UPDATE api_keys SET {column} = {garbage} WHERE digest = $1", b"1")  # noqa: S608
        changes = await store.changes(None, NOW)
        listed = await store.list(damaged.append)
    found = {change.digest: key for change, key in changes or ()}

    assert listed == [WIDE]
    assert record_of(found[b"2"] or ()) == WIDE
    with pytest.raises(DamagedRow):
        record_of(found[b"1"] or ())
    assert [each.table for each in damaged] == ["api_keys"]
    assert "in the key store is damaged" in str(damaged[0])


@pytest.mark.parametrize(("column", "garbage"), BAD_KEYS)
async def test_a_damaged_key_grants_nothing(file: Path, column: str, garbage: str) -> None:
    """A key with a damaged column in a SQLite file is invalid. Other keys stay valid."""
    await assert_key_is_damaged(file, column, garbage)


@pytest.mark.parametrize(("column", "garbage"), BAD_AT_SERVER)
async def test_a_damaged_key_grants_nothing_at_a_server(
    postgres: PostgresServer, column: str, garbage: str
) -> None:
    """A key with a damaged list or time in PostgreSQL is invalid. PostgreSQL checks only types."""
    await assert_key_is_damaged(postgres.new_database(), column, garbage)


@pytest.mark.parametrize("digest", ["'text'", "5", "1000000000000", NOT_UTF8, "X''"])
async def test_a_damaged_digest_belongs_to_no_key(file: Path, digest: str) -> None:
    """A damaged digest is a change in the log, and is not the digest of a key."""
    async with KeyStore.open(file) as store:
        await store.add(RECORD, b"1")
        await store.add(WIDE, b"2")
        execute(file, f"UPDATE api_keys SET digest = {digest} WHERE digest = $1", b"1")  # noqa: S608
        changes = await store.changes(None, NOW)
    found = {change.digest: key for change, key in changes or ()}

    assert found[b"1"] is None
    assert record_of(found[b"2"] or ()) == WIDE


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO pepper VALUES (1, X'01020304')",
        "UPDATE pepper SET mark = 'text'",
        "UPDATE pepper SET mark = 1000000000000",
    ],
)
async def test_a_damaged_mark_of_the_pepper_is_reported(file: Path, sql: str) -> None:
    """The error for a damaged mark of the pepper names the table and a remedy."""
    async with KeyStore.open(file) as store:
        await store.keep_pepper_mark(b"mark")
        execute(file, sql)

        with pytest.raises(ConfigError, match="the table named pepper is damaged"):
            await store.pepper_mark()


BATCH_FENCE = Fence(id=77, key="gw", token="removal")
REMOVAL = Sending(None, 1, [], removed=[2], is_exclusive=True)
OTHER = Sending(OTHER_IDENTITY, 7, ROWS, [7])

BAD_RECORDS: Mapping[str, Sequence[str]] = {
    "fingerprint": [NOT_UTF8, BLOB],
    "worksheet": [NOT_UTF8, BLOB],
    "sent_at": ["'x'", BLOB, "1e300"],
    "first_row": ["'x'", "1.5", BLOB],
    "rows": ["''", "'x'", "'{}'", "'[1]'", "'[[{\"sha256\": []}]]'", BLOB, NOT_UTF8],
    "numbers": ["''", "'x'", "'{}'", "'[\"a\"]'", "'[1.5]'", BLOB, NOT_UTF8],
    "removes_rows": ["'x'", "2", BLOB],
    "last_removal": ["'x'", "0.5", BLOB],
}
BAD_FENCES: Mapping[str, Sequence[str]] = {
    "fence_id": ["NULL", "'x'", "0", "-1", "1e300", "2147483648", BLOB],
    "fence_key": ["NULL", "''", BLOB, NOT_UTF8],
    "token": ["''", BLOB, NOT_UTF8],
}
BAD_ANSWERS = ["''", "'x'", "'[]'", "'{\"results\": 5}'", "'{\"results\": [{}]}'", BLOB, NOT_UTF8]


def cases(table: Mapping[str, Sequence[str]]) -> Any:
    return [(column, garbage) for column, each in table.items() for garbage in each]


async def open_ones(database: Database, column: str, garbage: str) -> Sequence[OpenWrite]:
    """Open writes that a restart finds after one record was damaged."""
    clock = ManualClock()
    async with KeyStore.open(database) as store, store.open_ledger(clock) as ledger:
        await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS, [5])], FENCE)
        await ledger.sending(
            WORKSHEET, [Sending(OTHER_IDENTITY, 7, ROWS, [7])], replace(FENCE, id=8)
        )
    execute(database, f"UPDATE idempotency_records SET {column} = {garbage} WHERE scope = 's1'")  # noqa: S608
    with capture_logs() as logged:
        async with KeyStore.open(database) as store, store.open_ledger(clock) as ledger:
            at_start = [event["table"] for event in logged]
            await assert_is_unknown(ledger)
            assert await ledger.find("s2") is not None
            ledger.check_room(IDENTITY)
            opened = ledger.open_writes

    assert at_start == ["idempotency_records"]
    return opened


async def assert_is_unknown(ledger: SqlLedger) -> None:
    """Check that the write is not sent again, and that its outcome is not `not_applied`."""
    with capture_logs() as logged, pytest.raises(WriteOutcomeUnknown) as unknown:
        await ledger.find("s1")
    assert unknown.value.outcome == "unknown"
    assert [event["event"] for event in logged] == ["damaged-row"]


@pytest.mark.parametrize(("column", "garbage"), cases(BAD_RECORDS))
async def test_a_damaged_open_record_holds_up_later_writes(
    file: Path, column: str, garbage: str
) -> None:
    """The outcome of a damaged open record is unknown. Other writes to the worksheet first
    check its fence.
    """
    damaged, *_ = opened = await open_ones(file, column, garbage)

    if column == "worksheet":  # no worksheet is known
        assert [each.fence.id for each in opened] == [8]
    else:
        assert [each.fence.id for each in opened] == [FENCE.id, 8]
        assert damaged.is_exclusive
        assert damaged.worksheet == WORKSHEET


@pytest.mark.parametrize(("column", "garbage"), cases(BAD_FENCES))
async def test_a_record_with_a_damaged_fence_blocks_no_writes(
    file: Path, column: str, garbage: str
) -> None:
    """The outcome of a record with a damaged fence stays unknown. Other writes do not wait."""
    opened = await open_ones(file, column, garbage)

    assert [each.fence.id for each in opened] == [8]


@pytest.mark.parametrize(
    ("column", "garbage"),
    [
        ("rows", "'x'"),
        ("numbers", "'{}'"),
        ("sent_at", "'NaN'"),
        ("sent_at", "'Infinity'"),
        ("fence_id", "NULL"),
        ("fence_id", "-1"),
        ("fence_key", "NULL"),
    ],
)
async def test_a_damaged_open_record_at_a_server(
    postgres: PostgresServer, column: str, garbage: str
) -> None:
    """A record with invalid JSON or inconsistent columns is damaged in PostgreSQL, too."""
    opened = await open_ones(postgres.new_database(), column, garbage)

    assert [each.fence.id for each in opened] == ([8] if "fence" in column else [FENCE.id, 8])


@pytest.mark.parametrize("garbage", BAD_ANSWERS)
async def test_a_damaged_answer_is_unknown(file: Path, garbage: str) -> None:
    """A damaged answer has the outcome `unknown`, because the write might have been applied.
    Other answers are repeated.
    """
    async with KeyStore.open(file) as store, store.open_ledger(ManualClock()) as ledger:
        await ledger.completed([(IDENTITY, results(5)), (OTHER_IDENTITY, results(6))])
        execute(file, f"UPDATE idempotency_records SET answer = {garbage} WHERE scope = 's1'")  # noqa: S608
        await assert_is_unknown(ledger)
        other = await ledger.find("s2")

    assert other is not None
    assert other.answer == results(6)


@pytest.mark.parametrize("column", ["answer", "rows", "numbers", "fingerprint", "first_row"])
async def test_a_write_with_a_damaged_record_is_not_sent_again(file: Path, column: str) -> None:
    """A retry of a write with a damaged record gets 504 with outcome `unknown`, and
    writes nothing.
    """
    performed: list[str] = []

    async def perform() -> Results:
        performed.append("once")
        return results(5)

    async def exclusively(*_: object) -> NoReturn:
        raise AssertionError("a damaged record is not resumed")

    async def resume(_: Entry) -> NoReturn:
        raise AssertionError("a damaged record is not resumed")

    async with KeyStore.open(file) as store, store.open_ledger(ManualClock()) as ledger:
        idempotency = Idempotency(ledger, exclusively)
        await idempotency.run(IDENTITY, perform, resume)
        execute(file, f"UPDATE idempotency_records SET {column} = {BLOB}")  # noqa: S608
        for _ in range(2):
            with pytest.raises(WriteOutcomeUnknown):
                await idempotency.run(IDENTITY, perform, resume)

    assert performed == ["once"]


@pytest.mark.parametrize(
    ("column", "garbage"),
    [
        *(
            ("removed", text)
            for text in ("''", "'x'", "'[ ]'", "'{}'", "'[\"a\"]'", BLOB, NOT_UTF8)
        ),
        *(("is_applied", garbage) for garbage in ("'x'", "2", BLOB)),
    ],
)
async def test_an_answer_from_before_a_damaged_removal_is_unknown(
    file: Path, column: str, garbage: str
) -> None:
    """After a delete with a damaged note, older answers are unknown. Newer answers are repeated."""
    async with KeyStore.open(file) as store, store.open_ledger(ManualClock()) as ledger:
        await ledger.completed([(IDENTITY, results(5))])
        await ledger.sending(WORKSHEET, [REMOVAL], BATCH_FENCE)
        await ledger.settled(WORKSHEET, BATCH_FENCE, is_applied=True)
        await ledger.completed([(OTHER_IDENTITY, results(6))])
        execute(file, f"UPDATE row_removals SET {column} = {garbage}")  # noqa: S608
        if column == "removed":
            await assert_is_unknown(ledger)
        other = await ledger.find("s2")

    assert other is not None
    assert other.answer == results(6)


@pytest.mark.parametrize("garbage", ["'x'", "'[0]'", BLOB])
async def test_an_open_damaged_removal_that_was_applied_is_kept(file: Path, garbage: str) -> None:
    """A restart checks the fence of an open delete with a damaged note. Older answers stay
    unknown.
    """
    clock = ManualClock()
    async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
        await ledger.completed([(IDENTITY, results(5))])
        await ledger.sending(WORKSHEET, [REMOVAL], BATCH_FENCE)
    execute(file, f"UPDATE row_removals SET removed = {garbage}")  # noqa: S608
    async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
        await ledger.settled(WORKSHEET, BATCH_FENCE, is_applied=True)
        await ledger.completed([(OTHER_IDENTITY, results(6))])
        await assert_is_unknown(ledger)


@pytest.mark.parametrize(
    ("column", "garbage"),
    [
        *(each for each in cases(BAD_FENCES) if each[1] != "NULL"),  # the columns are NOT NULL
        *(("worksheet", garbage) for garbage in (BLOB, NOT_UTF8, "'x'")),
    ],
)
async def test_a_gateway_starts_with_a_damaged_open_batch(
    file: Path, column: str, garbage: str
) -> None:
    """A damaged note of an open batch is logged. The gateway starts, and finds the other open
    writes.
    """
    clock = ManualClock()
    async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
        await ledger.sending(WORKSHEET, [REMOVAL], BATCH_FENCE)
        await ledger.sending(
            WORKSHEET, [Sending(OTHER_IDENTITY, 7, ROWS, [7])], replace(FENCE, id=8)
        )
    execute(file, f"UPDATE row_removals SET {column} = {garbage}")  # noqa: S608
    with capture_logs() as logged:
        async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
            opened = ledger.open_writes

    assert [each.fence.id for each in opened] == [8]
    assert [event["table"] for event in logged] == ["row_removals"]


@pytest.mark.parametrize(
    ("column", "garbage"),
    [
        *((column, text) for column in ("updated", "removed") for text in ("'x'", "'[0]'", BLOB)),
        ("is_exclusive", "2"),
    ],
)
async def test_all_writes_wait_for_a_batch_with_damaged_rows(
    file: Path, column: str, garbage: str
) -> None:
    """All writes wait until the fence of a batch with damaged row numbers is checked."""
    clock = ManualClock()
    async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
        await ledger.sending(WORKSHEET, [Sending(None, 1, [], updated=[2])], BATCH_FENCE)
    execute(file, f"UPDATE row_removals SET {column} = {garbage}")  # noqa: S608
    with capture_logs() as logged:
        async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
            (batch,) = ledger.open_writes

    assert (batch.fence, batch.is_exclusive) == (BATCH_FENCE, True)
    assert [event["table"] for event in logged] == ["row_removals"]


@pytest.mark.parametrize("size", ["1000000000000", "-1", "'x'", BLOB])
@pytest.mark.parametrize("is_open", [True, False], ids=["open", "completed"])
async def test_a_damaged_size_deletes_no_records(file: Path, size: str, is_open: bool) -> None:
    """In the quota, a record with a damaged size counts as a small record."""
    clock = ManualClock()
    async with KeyStore.open(file) as store, store.open_ledger(clock) as ledger:
        await ledger.completed([(OTHER_IDENTITY, results(6))])
        if is_open:
            await ledger.sending(WORKSHEET, [Sending(IDENTITY, 5, ROWS)], FENCE)
        else:
            await ledger.completed([(IDENTITY, results(5))])
    execute(file, f"UPDATE idempotency_records SET size = {size} WHERE scope = 's1'")  # noqa: S608
    third = replace(IDENTITY, scope="s3")
    max_bytes = 100 * BYTES_BESIDE
    async with (
        KeyStore.open(file) as store,
        store.open_ledger(clock, max_bytes=max_bytes) as ledger,
    ):
        ledger.check_room(third)
        await ledger.completed([(third, results(7))])
        found = [await ledger.find(scope) for scope in ("s1", "s2", "s3")]

    assert None not in found


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("api_keys", f"name = {NOT_UTF8}"),
        ("api_keys", f"plan = {BLOB}"),
        ("api_keys", "read_only = 'x'"),
        ("api_keys", "digest = 'text'"),
        ("idempotency_records", "sent_at = 'x'"),
        ("idempotency_records", f"answer = {BLOB}"),
    ],
)
async def test_a_damaged_row_is_not_copied(
    file: Path, postgres: PostgresServer, table: str, change: str
) -> None:
    """A copy to PostgreSQL stops at a damaged row with a message, and copies nothing."""
    target: PostgresUrl = postgres.new_database()
    async with KeyStore.open(file) as store, store.open_ledger(ManualClock()) as ledger:
        await store.add(RECORD, b"1")
        await ledger.completed([(IDENTITY, results(5))])
    execute(file, f"UPDATE {table} SET {change}")  # noqa: S608

    with pytest.raises(ConfigError, match=r"keys\.db was not copied: "):
        await copy_store(file, target)
    assert execute(target, "SELECT count(*) FROM api_keys") == [(0,)]
