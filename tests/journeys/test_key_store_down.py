"""A key store that fails while the gateway serves."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.access.issue import KeyRequest
from tests.journeys.conftest import DEMO, EmulatorControl, make_keys, running_gateways
from tests.journeys.failure import refused


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "Cities"), ("POST", "New"), ("PUT", "Cities/2")]
)
def test_who_cannot_be_told_apart_is_asked_to_come_again(
    tmp_path: Path,
    emulator: EmulatorControl,
    method: str,
    path: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """503 that may be sent again: no write was applied, and Google is not asked.

    The client learns no more than that; the log has all of it under the request id.
    """
    access = make_keys(tmp_path, {"paid": KeyRequest(name="paid", spreadsheets=DEMO)})
    with running_gateways(emulator, access) as start:
        api = start()
        ready = api.get("/readyz", key=None)
        with closing(sqlite3.connect(access[0])) as database:
            database.execute("ALTER TABLE api_keys RENAME TO gone")
        body = None if method == "GET" else {"name": "x"}
        answer = api.send(method, path, json=body, headers={"X-Request-Id": "traced"})
        unready = api.get("/readyz", key=None)
        calls = api.emulator.calls()
        with closing(sqlite3.connect(access[0])) as database:
            database.execute("ALTER TABLE gone RENAME TO api_keys")
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
