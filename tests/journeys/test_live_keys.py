"""Keys that are rotated, restricted and counted while clients use them."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.access.issue import rotate_key, update_key
from gateway.access.pepper import load_pepper
from gateway.settings.model import load_settings
from gateway.storage.key_store import KeyEdit, KeyRecord, KeyRequest, KeyStore
from tests.journeys.conftest import KEYS, EmulatorControl, make_keys, running_gateways
from tests.journeys.process import running
from tests.journeys.test_process import Installation, installation, separate_emulator

EFFECTIVE_SECONDS = 5.0
LONGEST_SECONDS = 15.0
PAUSE_SECONDS = 0.02

__all__ = ["installation", "separate_emulator"]


class Client:
    """A client that repeats a request and counts the statuses."""

    def __init__(self, url: str, key: str, method: str = "GET", path: str = "Cities") -> None:
        self.statuses: Counter[int] = Counter()
        self.last: int = 0
        self._is_over = threading.Event()
        self._target = method, f"{url}/v2/sheets/{path}"
        self._key = key

    def run(self) -> None:
        body = {"name": "x"} if self._target[0] != "GET" else None
        with httpx2.Client(headers={"API-Key": self._key}, timeout=LONGEST_SECONDS) as client:
            while not self._is_over.wait(PAUSE_SECONDS):
                self.last = client.request(*self._target, json=body).status_code
                self.statuses[self.last] += 1

    def wait_for(self, status: int) -> float:
        """Seconds until the client gets this status."""
        began = time.monotonic()
        while self.last != status:
            assert time.monotonic() < began + LONGEST_SECONDS
            threading.Event().wait(PAUSE_SECONDS)
        return time.monotonic() - began

    def end(self) -> None:
        self._is_over.set()


@contextmanager
def at_work(*clients: Client) -> Iterator[None]:
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(client.run) for client in clients]
        try:
            yield
        finally:
            for client in clients:
                client.end()
    for each in running:
        each.result()


async def change(database: Path, name: str, edit: Any) -> Any:
    """Call `edit` with the key store and the key of this name."""
    async with KeyStore.open(database) as store:
        (record,) = [each for each in await store.list() if each.name == name]
        return await edit(store, record)


def test_a_key_is_rotated_under_load(emulator: EmulatorControl, tmp_path: Path) -> None:
    """During a rotation both secrets work; the old secret gets 401 only after the rotation ends."""
    database, keys = make_keys(tmp_path, {"paid": KEYS["paid"], "pages": KEYS["pages"]})
    settings = load_settings(None, {}, {"access.database": str(database)})

    async def rotate(store: KeyStore, record: KeyRecord) -> str | None:
        return await rotate_key(
            record,
            store=store,
            pepper=load_pepper(settings.access),
            overlap=timedelta(hours=1),
            now=datetime.now(UTC),
        )

    async def end(store: KeyStore, record: KeyRecord) -> bool:
        edit = KeyEdit(key_id=record.id, at=datetime.now(UTC), action="ended")
        return await store.end_rotation(edit)

    with running_gateways(emulator, (database, keys)) as start:
        api = start({"cache.rows_ttl_seconds": 60, "plans.paid.requests_per_minute": 0})
        old = Client(api.url, keys["paid"])
        writer = Client(api.url, keys["paid"], "PATCH", "Cities/2")
        with at_work(old, writer):
            old.wait_for(200)
            second = asyncio.run(change(database, "paid", rotate))
            new = Client(api.url, second)
            with at_work(new):
                new.wait_for(200)
                threading.Event().wait(EFFECTIVE_SECONDS)  # all that is kept of it is renewed
                before = +old.statuses, +writer.statuses, +new.statuses
                assert asyncio.run(change(database, "paid", end))
                seconds = old.wait_for(401)
                writer.wait_for(401)

    assert [{*each} for each in (*before, new.statuses)] == [{200}] * 4
    assert {*old.statuses} == {200, 401}
    assert seconds <= EFFECTIVE_SECONDS


def test_a_restricted_key_takes_effect_within_five_seconds(
    emulator: EmulatorControl, tmp_path: Path
) -> None:
    """A key that loses a worksheet and write access gets 403 and 405 within five seconds."""
    database, keys = make_keys(tmp_path, {"paid": KEYS["paid"]})
    settings = load_settings(None, {}, {"access.database": str(database)})

    async def narrow(store: KeyStore, record: KeyRecord) -> KeyEdit | None:
        grants = replace(
            record.grants,
            worksheets=frozenset({"Cities"}),
            may_create=False,
            may_update=False,
        )
        request = KeyRequest(name=record.name, plan=record.plan, grants=grants)
        return await update_key(
            record, request, store=store, plans=settings.plans, now=datetime.now(UTC)
        )

    with running_gateways(emulator, (database, keys)) as start:
        api = start({"cache.rows_ttl_seconds": 60, "plans.paid.requests_per_minute": 0})
        reader = Client(api.url, keys["paid"])
        other = Client(api.url, keys["paid"], path="New")
        writer = Client(api.url, keys["paid"], "PATCH", "Cities/2")
        with at_work(reader, other, writer):
            for client in (reader, other, writer):
                client.wait_for(200)
            edit = asyncio.run(change(database, "paid", narrow))
            began = time.monotonic()
            other.wait_for(403)
            writer.wait_for(405)
            seconds = time.monotonic() - began

    assert edit is not None
    assert {*edit.changes} == {"worksheets", "may"}
    assert seconds <= EFFECTIVE_SECONDS
    assert {*reader.statuses} == {200}


MISSING: Mapping[str, tuple[list[str], str]] = {
    "spreadsheet": (["--spreadsheet", "none"], "--spreadsheet: none: "),
    "worksheet": (
        ["--spreadsheet", "demo", "--worksheet", "cities"],
        '--worksheet: there is no worksheet "cities"; similar names are "Cities"',
    ),
    "field": (
        ["--spreadsheet", "demo", "--worksheet", "Cities", "--column", "nmae"],
        '--column: there is no field "nmae"; similar names are "name", ',
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_keys_create_checks_names(installation: Installation, name: str) -> None:
    """A misspelled spreadsheet, worksheet or column creates no key, unless `--no-check`
    is given.
    """
    options, complaint = MISSING[name]
    create = ("keys", "create", "--name", "n", *options)
    refused = installation.command(*create)
    forced = installation.command(*create, "--no-check")

    assert (refused.returncode, refused.stdout, forced.returncode) == (2, "", 0)
    assert complaint in refused.stderr


def test_the_usage_report_equals_the_log(installation: Installation) -> None:
    """The report of keys has the same requests, refusals and calls as the log.

    A killed gateway loses at most the last ten seconds.
    """
    made = installation.create_key("--spreadsheet", "demo", "--worksheet", "Cities")
    headers = {"API-Key": made["key"]}
    config = str(installation.folder / "config.toml")
    log = installation.folder / "log"
    with (
        running(log, "serve", "--port", "0", "--config", config) as process,
        httpx2.Client(base_url=process.url, headers=headers) as client,
    ):
        for path in ("Cities", "Cities?limit=3", "Cities/2", "Cities/999", "New", "Cities?limit=x"):
            client.get(f"/v2/sheets/{path}")
        client.post("/v2/sheets/Cities", json={"name": "x"})
        client.get("/livez")
        sent = 8
        ends = time.monotonic() + 10.0
        while sum(each["requests"] for each in reported(installation)) < sent:
            assert time.monotonic() < ends
            threading.Event().wait(0.2)
        process.process.kill()
        process.process.wait()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines if line["event"] == "request"]
    own = [line for line in lines if line["key"] == made["id"]]
    (found,) = [each for each in reported(installation) if each["key"] == made["id"]]

    assert len(lines) == sent
    assert found["requests"] == len(own)
    assert found["refusals"] == dict(
        sorted(Counter(str(line["code"]) for line in own if line["code"]).items())
    )
    for name in ("reads", "writes"):
        assert found[name] == sum(line[name] for line in own)
    assert found["rows"] > 3


def reported(installation: Installation) -> list[dict[str, Any]]:
    done = installation.command("keys", "report", "--json")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found
