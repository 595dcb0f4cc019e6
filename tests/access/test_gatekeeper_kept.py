"""What the gatekeeper keeps of keys, and for how long."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from gateway.access.caller import Caller
from gateway.access.gatekeeper import MAX_KEPT, Gatekeeper
from gateway.access.keys import digest, mint_key
from gateway.access.store import KeyRecord
from gateway.config import Settings
from gateway.errors import InvalidApiKey, PlanLimit
from gateway.limit_errors import KeysUnavailable
from gateway.write_errors import write_outcome
from tests.access.conftest import NOW, here
from tests.clock import ManualClock

PEPPER = bytes(range(32))
KEY = mint_key()
RECORD = KeyRecord(
    id="k1",
    name="server",
    last4=KEY[-4:],
    plan="paid",
    spreadsheets=frozenset({"one"}),
    worksheets=None,
    read_only=False,
    origins=frozenset(),
    created_at=NOW,
)


@dataclass
class FakeKeys:
    """A key store that counts what it is asked and answers when `gate` is open."""

    record: KeyRecord | None = RECORD
    error: Exception | None = None
    asked: list[bytes] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def find(self, digest: bytes) -> KeyRecord | None:
        self.asked.append(digest)
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.record


@dataclass
class Instant:
    """A wall clock that a test sets."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now


def gatekeeper(
    keys: FakeKeys, timer: ManualClock, clock: Instant | None = None, ttl_seconds: float = 5.0
) -> Gatekeeper:
    return Gatekeeper(
        store=keys,
        pepper=PEPPER,
        plans=Settings().plans,
        clock=clock or Instant(),
        timer=timer,
        ttl_seconds=ttl_seconds,
    )


async def answers(keeper: Gatekeeper, keys: Sequence[str]) -> list[Caller | BaseException]:
    """What each of these keys gets, brought at the same time."""
    return await asyncio.gather(
        *(keeper.identify(key, partial(str, number)) for number, key in enumerate(keys)),
        return_exceptions=True,
    )


async def let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_key_is_looked_up_once_in_its_time(clock: ManualClock) -> None:
    """For 5 seconds a key costs no look-up, and the caller is the same object; then it is one."""
    keys = FakeKeys()
    keeper = gatekeeper(keys, clock)
    first = await keeper.identify(KEY, here)
    clock.advance(4.99)
    second = await keeper.identify(KEY, here)
    asked = len(keys.asked)
    clock.advance(0.01)
    third = await keeper.identify(KEY, here)

    assert second is first
    assert (asked, third, keys.asked) == (1, first, [digest(KEY, PEPPER)] * 2)


async def test_without_a_time_nothing_is_kept(clock: ManualClock) -> None:
    """With 0 seconds every request is a look-up."""
    keys = FakeKeys()
    keeper = gatekeeper(keys, clock, ttl_seconds=0.0)
    for _ in range(3):
        await keeper.identify(KEY, here)

    assert len(keys.asked) == 3


@pytest.mark.parametrize(
    "record", [None, replace(RECORD, revoked_at=NOW)], ids=["unknown", "revoked"]
)
async def test_a_refusal_is_kept_too(clock: ManualClock, record: KeyRecord | None) -> None:
    """A key that does not count costs one look-up in its time, however often it comes."""
    keys = FakeKeys(record=record)
    keeper = gatekeeper(keys, clock)
    for _ in range(3):
        with pytest.raises(InvalidApiKey):
            await keeper.identify(KEY, here)
    asked = len(keys.asked)
    keys.record = RECORD
    clock.advance(5.0)

    assert asked == 1
    assert (await keeper.identify(KEY, here)).key_id == "k1"


async def test_a_revocation_counts_from_when_the_look_up_began(clock: ManualClock) -> None:
    """A slow look-up does not lengthen the life of what it found."""
    keys = FakeKeys()
    keys.gate.clear()
    keeper = gatekeeper(keys, clock)
    asking = asyncio.create_task(keeper.identify(KEY, here))
    await let_others_run()
    clock.advance(4.0)
    keys.gate.set()
    caller = await asking
    keys.record = replace(RECORD, revoked_at=NOW)
    clock.advance(0.99)
    again = await keeper.identify(KEY, here)
    clock.advance(0.01)

    assert again is caller
    with pytest.raises(InvalidApiKey):
        await keeper.identify(KEY, here)


async def test_a_kept_key_expires_at_its_instant(clock: ManualClock) -> None:
    """The expiry is checked on each request, not at the look-up."""
    now = Instant()
    keys = FakeKeys(record=replace(RECORD, expires_at=NOW + timedelta(seconds=1)))
    keeper = gatekeeper(keys, clock, now)
    caller = await keeper.identify(KEY, here)
    now.now += timedelta(seconds=1)

    assert caller.key_id == "k1"
    with pytest.raises(InvalidApiKey):
        await keeper.identify(KEY, here)
    assert len(keys.asked) == 1


async def test_a_kept_key_of_a_plan_that_is_gone_is_told_so(clock: ManualClock) -> None:
    """The second answer is that of the first, without a look-up."""
    keys = FakeKeys(record=replace(RECORD, plan="gold"))
    keeper = gatekeeper(keys, clock)
    for _ in range(2):
        with pytest.raises(PlanLimit, match="plan 'gold'"):
            await keeper.identify(KEY, here)

    assert len(keys.asked) == 1


async def test_a_rush_of_one_key_is_one_look_up(clock: ManualClock) -> None:
    """Whoever brings a key that is being looked up waits for that look-up."""
    keys = FakeKeys()
    keys.gate.clear()
    keeper = gatekeeper(keys, clock)
    asking = asyncio.create_task(answers(keeper, [KEY] * 50 + [mint_key()]))
    await let_others_run()
    asked = len(keys.asked)
    keys.gate.set()
    found = await asking

    assert asked == 2
    assert all(each is found[0] for each in found[:50])
    assert isinstance(found[0], Caller)


async def test_one_who_leaves_hurts_nobody(clock: ManualClock) -> None:
    """The first who asked goes; the others get their answer, from the same look-up."""
    keys = FakeKeys()
    keys.gate.clear()
    keeper = gatekeeper(keys, clock)
    first, second = (asyncio.create_task(keeper.identify(KEY, here)) for _ in range(2))
    await let_others_run()
    first.cancel()
    await let_others_run()
    keys.gate.set()

    assert (await second).key_id == "k1"
    assert first.cancelled()
    assert len(keys.asked) == 1


async def test_a_failed_look_up_is_not_kept(clock: ManualClock) -> None:
    """All who waited get the failure; who comes next has the key looked up anew."""
    keys = FakeKeys(error=OSError("disk"))
    keeper = gatekeeper(keys, clock)
    failures = await answers(keeper, [KEY] * 3)
    keys.error = None

    assert [type(each) for each in failures] == [OSError] * 3
    assert (await keeper.identify(KEY, here)).key_id == "k1"
    assert len(keys.asked) == 2


async def test_a_key_store_that_fails_is_a_reason_to_try_again(clock: ManualClock) -> None:
    """Nothing was done: whoever asks may send it again; the log has what happened, once."""
    keys = FakeKeys(error=OperationalError("select", {}, Exception("no such table")))
    with capture_logs() as events:
        failures = await answers(gatekeeper(keys, clock), [KEY] * 3)

    for failure in failures:
        assert isinstance(failure, KeysUnavailable)
        assert (failure.status, failure.code, failure.retryable) == (503, 5031, True)
        assert failure.retry_after_seconds
        assert write_outcome(failure) == "not_applied"
    assert [event["event"] for event in events] == ["fault"]
    assert "no such table" in str(events[0]["exc_info"])


async def test_there_is_a_bound_to_what_is_kept(clock: ManualClock) -> None:
    """Ever-new keys push out the oldest of their own; a key in use stays."""
    keys = FakeKeys()
    keeper = gatekeeper(keys, clock)
    await keeper.identify(KEY, here)
    keys.record = None
    others = [mint_key() for _ in range(MAX_KEPT + 10)]
    for half in (others[: MAX_KEPT // 2], others[MAX_KEPT // 2 :]):
        await answers(keeper, half)
        assert (await keeper.identify(KEY, here)).key_id == "k1"
    asked = len(keys.asked)
    await answers(keeper, [others[0], others[-1]])

    assert asked == len(others) + 1
    assert len(keys.asked) == asked + 1


@pytest.mark.parametrize(
    "key",
    [KEY[:-1] + ("0" if KEY[-1] != "0" else "1"), KEY[:-1], KEY + "0"],
    ids=["checksum", "shorter", "longer"],
)
async def test_a_mistyped_key_is_never_looked_up(clock: ManualClock, key: str) -> None:
    """What is no key by its form costs nothing, also while one like it is kept."""
    keys = FakeKeys()
    keeper = gatekeeper(keys, clock)
    await keeper.identify(KEY, here)

    with pytest.raises(InvalidApiKey):
        await keeper.identify(key, here)
    assert len(keys.asked) == 1


async def test_no_key_is_kept(clock: ManualClock) -> None:
    """Neither the key nor the pepper is in what a gatekeeper shows or keeps."""
    keeper = gatekeeper(FakeKeys(), clock)
    await keeper.identify(KEY, here)

    assert KEY not in repr(vars(keeper))
    assert KEY not in repr(keeper)
