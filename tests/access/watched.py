"""A key store that counts its queries, and answers when the test allows."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gateway.access.issue import create_key
from gateway.access.keys import OF_FILE, ActiveKeys, Holder, Outage, digest
from gateway.settings.model import Settings
from gateway.storage.key_store import Grants, KeyChange, KeyRecord, KeyRequest, KeyStore, StoredKey
from tests.clock import ManualClock
from tests.storage.conftest import NOW

PEPPER = bytes(range(32))
PLANS = Settings().plans
WIDE = KeyRequest(name="server", grants=Grants(spreadsheets=None))


@dataclass
class WatchedStore:
    """Counts queries of the store; answers are returned when `gate` is set."""

    store: KeyStore
    error: Exception | None = None
    asked: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def changes(
        self, last: KeyChange | None, now: datetime
    ) -> Sequence[tuple[KeyChange, StoredKey | None]] | None:
        self.asked += 1
        found = await self.store.changes(last, now)
        self.is_asked.set()
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return found

    def keep_waiting(self) -> None:
        """Delay results until the test sets `gate`."""
        self.gate.clear()
        self.is_asked.clear()


@dataclass
class Instant:
    """Wall clock that a test sets."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


async def issue(store: KeyStore, request: KeyRequest = WIDE) -> tuple[KeyRecord, str]:
    """Store a new key and return it."""
    return await create_key(request, store=store, pepper=PEPPER, plans=PLANS, now=NOW)


async def issued_digest(store: KeyStore, request: KeyRequest = WIDE) -> tuple[str, bytes]:
    """Store a new key and return its ID and digest."""
    record, key = await issue(store, request)
    return record.id, digest(key, PEPPER)


def active_keys(
    store: KeyStore | WatchedStore,
    timer: ManualClock,
    clock: Instant | None = None,
    outage: Outage = OF_FILE,
) -> ActiveKeys:
    """`ActiveKeys` of a store; a sleep only advances `timer`."""

    async def sleep(seconds: float) -> None:
        timer.advance(seconds)

    return ActiveKeys(
        store.changes,
        PLANS,
        clock=clock or Instant(),
        tag_key=PEPPER,
        outage=outage,
        timer=timer,
        sleep=sleep,
    )


async def ids(keys: ActiveKeys, digests: Sequence[bytes]) -> list[str | None]:
    """Key IDs for these digests; None for each digest that is not valid."""
    found = [await keys.find(each) for each in digests]
    return [None if holder is None else holder.record.id for holder in found]


async def outcomes(
    keys: ActiveKeys, digests: Sequence[bytes]
) -> list[Holder | BaseException | None]:
    """Results or exceptions of concurrent calls of `find`."""
    return await asyncio.gather(*map(keys.find, digests), return_exceptions=True)
