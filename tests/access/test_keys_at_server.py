"""Gateways with one PostgreSQL server: changes of keys take effect at once, and outages
are tolerated.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from structlog.testing import capture_logs

from gateway.access.issue import create_key, rotate_key, update_key
from gateway.access.keys import mint_key
from gateway.settings.database import PostgresUrl
from gateway.settings.model import Settings
from gateway.storage.key_signals import SESSION
from gateway.storage.key_store import Grants, KeyEdit, KeyRequest, KeyStore
from tests.journeys.failure import refused
from tests.postgres import PASSWORD, PostgresServer, in_thread, running_server
from tests.storage.by_hand import execute
from tests.surfaces.stage import GRANTED, Surface, open_surface

PEPPER = "a pepper of the tests"
GRACE_SECONDS = 5.0
PATIENCE_SECONDS = 20.0
NAMES = ("first", "second", "third")
REQUESTS = {name: KeyRequest(name=name, grants=Grants(spreadsheets=GRANTED)) for name in NAMES}
SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND usename = current_user"


@dataclass(frozen=True)
class Gateways:
    """Three gateways with row caches that share one key store."""

    surfaces: Sequence[Surface]
    database: PostgresUrl
    keys: Mapping[str, str]

    def answers(
        self, key: str, method: str = "GET", path: str = "Cities", **headers: str
    ) -> list[tuple[int, int]]:
        """Status and error code of each gateway's answer; the code is 0 for a successful answer."""
        pairs = [("Authorization", f"Bearer {key}"), ("Content-Type", "application/json")]
        pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
        body = b'{"name": "Ulm"}' if method == "POST" else b""
        found = [
            each.send(method, path, key=None, headers=pairs, body=body) for each in self.surfaces
        ]
        return [
            refused(each) if each.status_code >= 400 else (each.status_code, 0) for each in found
        ]

    def seconds_until(self, key: str, *expected: tuple[int, int]) -> float:
        """Seconds until all gateways give this answer, while the key is used all the time."""
        began = time.monotonic()
        while not set(self.answers(key)) <= set(expected):
            assert time.monotonic() < began + PATIENCE_SECONDS
            pause()
        return time.monotonic() - began

    def revoke(self, name: str) -> None:
        async def run() -> None:
            async with KeyStore.open(self.database) as store:
                (found,) = [each.id for each in await store.list() if each.name == name]
                await store.revoke(found, datetime.now(UTC))

        in_thread(run)

    def listening(self) -> list[int]:
        """Process IDs of the PostgreSQL server's connections that listen for signals."""
        return [pid for (pid,) in execute(self.database, SESSIONS, SESSION)]

    def wait_for_listeners(self, *, without: list[int]) -> float:
        """Wait until all gateways listen on other connections than these."""
        began = time.monotonic()
        while len(set(self.listening()) - set(without)) < len(self.surfaces):
            assert time.monotonic() < began + PATIENCE_SECONDS
            pause()
        return time.monotonic() - began


def pause() -> None:
    threading.Event().wait(0.02)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL server that the test can stop."""
    with running_server() as started:
        yield started


@pytest.fixture
def gateways(server: PostgresServer, tmp_path: Path) -> Iterator[Gateways]:
    database = server.new_database()
    overrides = {
        "access.database": database.url.get_secret_value(),
        "access.pepper": PEPPER,
        "access.grace_seconds": GRACE_SECONDS,
        "cache.rows_ttl_seconds": 60,
        "cache.max_stale_seconds": 60,
    }
    with ExitStack() as stack:
        first = stack.enter_context(open_surface(tmp_path, REQUESTS, overrides))
        others = [stack.enter_context(open_surface(tmp_path, {}, overrides)) for _ in range(2)]
        opened = Gateways([first, *others], database, first.keys)
        opened.wait_for_listeners(without=[])
        yield opened


def test_new_and_revoked_keys_reach_all_gateways(gateways: Gateways) -> None:
    """The signal of a revocation ends a cached authentication at once, whatever its age."""
    key = gateways.keys["first"]
    gateways.seconds_until(key, (200, 0))
    for name in ("second", "third"):
        gateways.seconds_until(gateways.keys[name], (200, 0))
        gateways.revoke(name)
        seconds = gateways.seconds_until(gateways.keys[name], (401, 4011))

        assert seconds < 1.0

    async def make() -> str:
        async with KeyStore.open(gateways.database) as store:
            request = KeyRequest(name="new", grants=Grants(spreadsheets=GRANTED))
            plans, now = Settings().plans, datetime.now(UTC)
            pepper = PEPPER.encode()
            return (await create_key(request, store=store, pepper=pepper, plans=plans, now=now))[1]

    new = in_thread(make)

    assert gateways.seconds_until(new, (200, 0)) < 1.0
    assert gateways.answers(key) == [(200, 0)] * 3


def test_edits_and_rotations_reach_all_gateways(gateways: Gateways) -> None:
    """Narrowed grants, a second secret and the end of the first secret take effect on all
    gateways within a second.
    """
    key = gateways.keys["first"]
    gateways.seconds_until(key, (200, 0))
    pepper, now = PEPPER.encode(), datetime.now(UTC)

    async def run(edit: Literal["narrow", "rotate", "end"]) -> str | None:
        async with KeyStore.open(gateways.database) as store:
            (record,) = [each for each in await store.list() if each.name == "first"]
            if edit == "rotate":
                return await rotate_key(
                    record, store=store, pepper=pepper, overlap=timedelta(hours=1), now=now
                )
            if edit == "end":
                await store.end_rotation(KeyEdit(key_id=record.id, at=now, action="ended"))
                return None
            grants = replace(record.grants, worksheets=frozenset({"New"}))
            request = KeyRequest(name="first", grants=grants)
            await update_key(record, request, store=store, plans=Settings().plans, now=now)
            return None

    second = in_thread(lambda: run("rotate")) or ""
    rotating = gateways.seconds_until(second, (200, 0))
    both = gateways.answers(key)
    in_thread(lambda: run("end"))
    ending = gateways.seconds_until(key, (401, 4011))
    in_thread(lambda: run("narrow"))
    narrowing = gateways.seconds_until(second, (403, 4032))

    assert both == [(200, 0)] * 3
    assert max(rotating, ending, narrowing) < 1.0


@pytest.mark.parametrize("number", [None, signal.SIGSTOP], ids=["cut", "silent"])
def test_a_lost_connection_delays_a_revocation(
    gateways: Gateways, number: signal.Signals | None
) -> None:
    """A gateway without its signal connection applies a revocation within 5 seconds, and
    then reconnects.
    """
    for name in ("first", "second", "third"):
        gateways.seconds_until(gateways.keys[name], (200, 0))
    lost = gateways.listening()
    for pid in lost:
        if number is None:
            execute(gateways.database, f"SELECT pg_terminate_backend({pid})")
        else:
            os.kill(pid, number)
    try:
        gateways.revoke("first")
        without = gateways.seconds_until(gateways.keys["first"], (401, 4011))
        reconnecting = gateways.wait_for_listeners(without=lost)
        gateways.revoke("second")
        after = gateways.seconds_until(gateways.keys["second"], (401, 4011))
    finally:
        for pid in lost if number is not None else []:
            os.kill(pid, signal.SIGCONT)

    assert without < 5.0
    assert reconnecting < 10.0
    assert after < 1.0
    assert gateways.answers(gateways.keys["third"]) == [(200, 0)] * 3


@pytest.mark.parametrize("is_silent", [False, True], ids=["stopped", "silent"])
def test_an_outage_of_the_server(
    gateways: Gateways, server: PostgresServer, is_silent: bool
) -> None:
    """During an outage, cached keys read until the grace period ends, and writes get an
    error unsent. Afterwards all works again.
    """
    key = gateways.keys["first"]
    gateways.seconds_until(key, (200, 0))
    unknown = mint_key()
    slowest, seen = 0.0, set[tuple[int, int]]()
    with capture_logs() as lines:
        stop(server, is_silent)
        stopped = time.monotonic()
        written = []
        if not is_silent:  # it would take longer than the grace
            written += gateways.answers(key, "POST", idempotency_key="once")
            written += gateways.answers(key, "POST", "Cities?on_conflict=name")
        while time.monotonic() < stopped + PATIENCE_SECONDS and (503, 5031) not in seen:
            began = time.monotonic()
            answers = set(gateways.answers(key))
            if answers == {(200, 0)}:
                slowest = max(slowest, time.monotonic() - began)
            seen |= answers
            pause()
        ended = time.monotonic() - stopped
        strangers = gateways.answers(unknown)
        start(server, is_silent)
    back = gateways.seconds_until(key, (200, 0))
    began = time.monotonic()
    while set(gateways.answers(key, "POST", idempotency_key="again")) != {(201, 0)}:
        assert time.monotonic() < began + PATIENCE_SECONDS
    writing = time.monotonic() - began
    listening = gateways.wait_for_listeners(without=[])
    gateways.revoke("first")
    revoked = gateways.seconds_until(key, (401, 4011))

    assert seen == {(200, 0), (503, 5031)}
    assert slowest < 1.0
    assert set(strangers) == {(503, 5031)}
    assert set(written) <= {(503, 5031)}
    assert ended > GRACE_SECONDS - 2.5
    assert back + writing + listening < 10.0
    assert revoked < 1.0
    assert PASSWORD not in str(lines)


def stop(server: PostgresServer, is_silent: bool) -> None:
    if is_silent:
        server.send_signal(signal.SIGSTOP)
    else:
        server.stop()


def start(server: PostgresServer, is_silent: bool) -> None:
    if is_silent:
        server.send_signal(signal.SIGCONT)
    else:
        server.start()
