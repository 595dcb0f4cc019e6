"""Bodies that are expensive to parse, next to cheap requests."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import httpx2
import pytest

from tests.journeys.conftest import LOOKS_EACH_TIME, Api, EmulatorControl, KeysOnDisk
from tests.journeys.failure import refused
from tests.journeys.standalone import standing_alone
from tests.journeys.waiting import PATIENCE_SECONDS
from tests.web.hostile_bodies import HOSTILE, Hostile

HOSTILE_REQUESTS = 20
MOST_SECONDS = 1.0
"""A high limit: the request takes milliseconds alone, and up to 100 ms on a busy machine."""
SENDERS = 3
WORST = ("one member over and over", "empty objects", "broken names", "broken escapes")


@contextmanager
def sent_all_the_time(api: Api, hostile: Hostile) -> Iterator[list[httpx2.Response]]:
    """Several clients of one key send this body in a loop during the block."""
    is_over, answers = Event(), list[httpx2.Response]()

    def send() -> None:
        headers = {
            "Authorization": f"Bearer {api.keys['free']}",
            "X-Spreadsheet-Id": "demo",
            "Content-Type": hostile.content_type,
        }
        with httpx2.Client(base_url=api.url, headers=headers, timeout=60.0) as client:
            while not is_over.is_set():
                answers.append(client.post("/v2/sheets/New", content=hostile.body))

    senders = [Thread(target=send) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    try:
        yield answers
    finally:
        is_over.set()
        for sender in senders:
            sender.join()


@pytest.mark.parametrize("name", WORST)
def test_a_good_request_beside_hostile_bodies(
    emulator: EmulatorControl, access: KeysOnDisk, tmp_path: Path, name: str
) -> None:
    """Expensive bodies get 400 and delay no other request."""
    emulator.reset()
    settings = {**LOOKS_EACH_TIME, "cache.rows_ttl_seconds": 3600}
    with standing_alone(tmp_path, emulator, access, settings) as gateway:
        api = gateway.api
        assert api.get("Cities").status_code == 200
        before = emulator.everything()
        longest = 0.0
        with sent_all_the_time(api, HOSTILE[name]) as answers:
            ends = time.monotonic() + PATIENCE_SECONDS
            while len(answers) < HOSTILE_REQUESTS and time.monotonic() < ends:
                began = time.perf_counter()
                assert api.get("Cities").status_code == 200
                longest = max(longest, time.perf_counter() - began)

    assert len(answers) >= HOSTILE_REQUESTS
    assert {refused(answer) for answer in answers} == {(400, 104)}
    assert longest < MOST_SECONDS
    assert emulator.everything() == before
