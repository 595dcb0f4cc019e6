"""A key store that fails while the gateway serves."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.access.keys import mint_key
from gateway.storage.key_store import Grants, KeyRequest
from tests.journeys.conftest import DEMO, EmulatorControl, make_keys, running_gateways
from tests.journeys.failure import refused
from tests.journeys.waiting import until


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "Cities"), ("POST", "New"), ("PUT", "Cities/2")]
)
def test_callers_that_cannot_be_identified_get_a_retry_time(
    tmp_path: Path,
    emulator: EmulatorControl,
    method: str,
    path: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Without the key store, an unknown key gets a retryable 503 and costs no Google call.

    The answer has no detail; the log has the database error with the request ID.
    """
    access = make_keys(
        tmp_path, {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO))}
    )
    with running_gateways(emulator, access) as start:
        api = start()
        ready = api.get("/readyz", key=None)
        rename_keys(access[0], "api_keys", "gone")
        body = None if method == "GET" else {"name": "x"}
        answer = api.send(
            method, path, key=mint_key(), json=body, headers={"X-Request-Id": "traced"}
        )
        unready = api.get("/readyz", key=None)
        calls = api.emulator.calls()
        rename_keys(access[0], "gone", "api_keys")
        again = api.send(method, path, json=body)

    assert refused(answer) == (503, 5031)
    assert answer.json()["retryable"] is True
    assert answer.json().get("outcome") == (None if method == "GET" else "not_applied")
    assert int(answer.headers["retry-after"]) >= 1
    assert (ready.status_code, unready.status_code) == (200, 503)
    assert calls == (0, 0)
    assert again.is_success
    assert not re.search("sql|table|traceback|select", answer.text, re.IGNORECASE)
    log = capfd.readouterr()
    assert "traced" in log.out + log.err
    assert "no such table" in log.out + log.err


def test_a_cached_key_works_until_its_cache_entry_expires(
    tmp_path: Path, emulator: EmulatorControl
) -> None:
    """Without the key store, a cached key works for a time and then gets 503, never 401."""
    access = make_keys(
        tmp_path, {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO))}
    )
    with running_gateways(emulator, access) as start:
        api = start()
        rename_keys(access[0], "api_keys", "gone")
        first = api.get("Cities")
        ended = until(lambda: not api.get("Cities").is_success)
        last = api.get("Cities")
        rename_keys(access[0], "gone", "api_keys")
        again = api.get("Cities")

    assert ended
    assert first.is_success
    assert refused(last) == (503, 5031)
    assert again.is_success


def rename_keys(database: Path, old: str, new: str) -> None:
    """Rename the table of keys, to hide or restore it."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")


def test_a_locked_store_does_not_delay_writes_without_a_key(
    tmp_path: Path, emulator: EmulatorControl
) -> None:
    """Only writes with an Idempotency-Key wait for the key store."""
    access = make_keys(
        tmp_path, {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO))}
    )
    with running_gateways(emulator, access) as start, closing(sqlite3.connect(access[0])) as store:
        api = start()
        api.emulator.faults({"call": "spreadsheets.batchUpdate", "drop": True})
        kept = api.post("New", json={"name": "kept"}, headers={"Idempotency-Key": "open"})
        store.isolation_level = None
        store.execute("BEGIN EXCLUSIVE")
        answers = [api.post("New", json={"name": f"n{number}"}) for number in range(3)]
        store.execute("ROLLBACK")

    assert [answer.status_code for answer in (kept, *answers)] == [201] * 4
    assert max(answer.elapsed.total_seconds() for answer in answers) < 2


def test_a_locked_store_refuses_keyed_writes(tmp_path: Path, emulator: EmulatorControl) -> None:
    """With a locked key store, a keyed write gets 503 `not_applied`; its retry succeeds.

    Reads are served.
    """
    access = make_keys(
        tmp_path, {"paid": KeyRequest(name="paid", grants=Grants(spreadsheets=DEMO))}
    )
    headers = {"Idempotency-Key": "noted"}
    with (
        running_gateways(emulator, access) as start,
        closing(sqlite3.connect(access[0], isolation_level=None)) as store,
    ):
        api = start()
        store.execute("BEGIN EXCLUSIVE")
        refusal = api.post("New", json={"name": "noted"}, headers=headers)
        read = api.get("New")
        store.execute("ROLLBACK")
        again = api.post("New", json={"name": "noted"}, headers=headers)
        writes = api.emulator.calls()[1]

    assert refused(refusal) == (503, 5031)
    assert (refusal.json()["outcome"], refusal.json()["retryable"]) == ("not_applied", True)
    assert int(refusal.headers["retry-after"]) >= 1
    assert (read.status_code, again.status_code, writes) == (200, 201, 1)
