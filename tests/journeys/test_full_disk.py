"""A key store on a full disk: answers stay true."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from uuid import uuid4

import pytest

from tests.journeys.conftest import Api, KeysOnDisk
from tests.journeys.failure import refused

BODY = {"name": "keyed", "population": 1}
LONG = "long " * 8000
REPLAYED = "idempotent-replayed"


@contextmanager
def full_for(access: KeysOnDisk, *changes: str) -> Iterator[None]:
    """Make these changes of idempotency records fail during the block, as on a full disk."""
    with closing(sqlite3.connect(access[0])) as connection:
        connection.executescript(
            "".join(
                f"CREATE TRIGGER full_{change} BEFORE {change} ON idempotency_records "
                "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END;"
                for change in changes
            )
        )
        try:
            yield
        finally:
            connection.executescript("".join(f"DROP TRIGGER full_{change};" for change in changes))


@pytest.fixture
def headers() -> dict[str, str]:
    """A new Idempotency-Key for each test, because tests share the key store."""
    return {"Idempotency-Key": str(uuid4())}


def test_a_write_that_cannot_be_recorded_is_not_sent(
    api: Api, access: KeysOnDisk, headers: dict[str, str]
) -> None:
    """A write whose record cannot be stored is `not_applied`; its retry succeeds later.

    Writes without an Idempotency-Key are not affected.
    """
    with full_for(access, "INSERT", "UPDATE"):
        failed = api.post("Cities", json=BODY, headers=headers)
        without_key = api.post("Cities", json={"name": "plain"})
    writes = api.emulator.calls()[1]
    later = api.post("Cities", json=BODY, headers=headers)

    assert refused(failed) == (500, 5000)
    assert failed.json()["outcome"] == "not_applied"
    assert (without_key.status_code, writes) == (201, 1)
    assert (later.status_code, later.json()["rowIndex"]) == (201, 13)
    assert REPLAYED not in later.headers


@pytest.mark.parametrize(
    ("method", "path", "row"), [("POST", "Cities", 12), ("PATCH", "Cities/3", 3)]
)
def test_a_write_whose_answer_cannot_be_stored(
    api: Api, access: KeysOnDisk, headers: dict[str, str], method: str, path: str, row: int
) -> None:
    """If the answer cannot be stored, the write still succeeds, and its retry finds the row."""
    with full_for(access, "UPDATE"):
        first = api.send(method, path, json=BODY, headers=headers)
        other = api.post("Cities", json={"name": "other"})
    again = api.send(method, path, json=BODY, headers=headers)

    assert first.status_code == again.status_code == (201 if method == "POST" else 200)
    assert other.status_code == 201
    assert first.json()["rowIndex"] == again.json()["rowIndex"] == row
    assert again.headers[REPLAYED] == "true"
    assert api.emulator.calls()[1] == 2


@pytest.mark.parametrize("is_open", [False, True], ids=["answered", "answer lost"])
def test_long_texts_are_replayed_completely(
    api: Api, access: KeysOnDisk, headers: dict[str, str], is_open: bool
) -> None:
    """The record of a write does not store long texts, but a replay has them."""
    body = {"name": LONG, "state": LONG + "!", "country": "short"}
    if is_open:
        api.emulator.faults(
            {"call": "spreadsheets.batchUpdate", "drop": True, "apply": True},
            {"call": "developerMetadata.search", "times": 99, "status": 503},
        )
    first = api.post("Cities", json=body, headers=headers)
    with closing(sqlite3.connect(access[0])) as connection:
        query = "SELECT max(size) FROM idempotency_records"
        (largest,) = connection.execute(query).fetchone()
    api.emulator.faults()
    again = api.post("Cities", json=body, headers=headers)
    other = api.post("Cities", json={**body, "name": LONG + "?"}, headers=headers)

    assert first.status_code == (504 if is_open else 201)
    assert again.status_code == 201
    assert again.json() == {"rowIndex": 12, **body}
    assert refused(other) == (422, 4220)
    assert api.emulator.calls()[1] == 1
    assert largest < 2000
