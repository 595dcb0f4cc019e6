"""Tests of `LastUse`, which stores the time of each key's last use."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from structlog.testing import capture_logs

from gateway.access.keys import LastUse
from tests.access.conftest import NOW


@dataclass
class Touches:
    """A store that records key and time of each write of a last use, and fails for some keys."""

    now: datetime = NOW
    seen: list[tuple[str, datetime]] = field(default_factory=list)
    failing: str = ""
    most_at_once: int = 0
    at_once: int = 0

    async def touch(self, key_id: str, now: datetime) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        self.seen.append((key_id, now))
        if key_id == self.failing:
            raise OSError("no disk")

    def clock(self) -> datetime:
        return self.now


async def test_a_key_is_touched_once_an_hour() -> None:
    """The time of last use of a key is written at most once an hour."""
    store = Touches()
    uses = LastUse(store.touch, store.clock)
    for minutes in (0, 1, 59, 1):
        store.now += timedelta(minutes=minutes)
        uses.note("k1")
        await uses.aclose()

    assert store.seen == [("k1", NOW), ("k1", NOW + timedelta(minutes=60))]


async def test_the_write_of_a_use_does_not_delay_the_request() -> None:
    """Noting a use returns before the store is written; closing waits for the write."""
    store = Touches()
    uses = LastUse(store.touch, store.clock)
    uses.note("k1")
    before = list(store.seen)
    await uses.aclose()

    assert before == []
    assert store.seen == [("k1", NOW)]


async def test_many_keys_are_touched_one_after_another() -> None:
    """Times of last use of many keys are written one after another, so that requests can
    still use the store.
    """
    store = Touches()
    uses = LastUse(store.touch, store.clock)
    for number in range(50):
        uses.note(f"k{number}")
    await uses.aclose()

    assert len(store.seen) == 50
    assert store.most_at_once == 1


async def test_a_failed_write_of_a_use_is_logged() -> None:
    """A failed write of a time of last use is logged, and not repeated within the hour;
    other keys are written.
    """
    store = Touches(failing="k1")
    uses = LastUse(store.touch, store.clock)
    with capture_logs() as lines:
        for key_id in ("k0", "k1", "k2", "k1"):
            uses.note(key_id)
        await uses.aclose()

    assert sorted(key_id for key_id, _ in store.seen) == ["k0", "k1", "k2"]
    assert [(line["event"], line["key_id"], line["error"]) for line in lines] == [
        ("last-use-failed", "k1", "OSError")
    ]


async def test_closing_without_a_use() -> None:
    """Closing returns at once if no key was used."""
    await LastUse(Touches().touch, Touches().clock).aclose()
