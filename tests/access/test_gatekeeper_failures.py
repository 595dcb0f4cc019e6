"""What the gatekeeper does where too many keys do not count."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import pytest

from gateway.access.caller import Caller
from gateway.access.failed_keys import FailedKeys
from gateway.access.gatekeeper import MAX_LOOK_UPS, Gatekeeper
from gateway.access.keys import digest, mint_key
from gateway.access.store import KeyRecord
from gateway.config import Settings
from gateway.errors import InvalidApiKey, MissingApiKey
from gateway.limit_errors import TooManyAuthFailures
from tests.access.conftest import NOW, here
from tests.access.test_gatekeeper_kept import PEPPER, RECORD
from tests.clock import ManualClock

GOOD = mint_key()


@dataclass
class Store:
    """Some keys by their digest, and how often they were looked up."""

    records: dict[bytes, KeyRecord] = field(default_factory=dict)
    look_ups: int = 0
    at_once: int = 0
    most_at_once: int = 0

    async def find(self, digest: bytes) -> KeyRecord | None:
        self.look_ups += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.records.get(digest)

    def add(self, key: str, record: KeyRecord) -> None:
        self.records[digest(key, PEPPER)] = record


@pytest.fixture
def store() -> Store:
    """A store with one key."""
    made = Store()
    made.add(GOOD, RECORD)
    return made


@pytest.fixture
def keeper(store: Store, clock: ManualClock) -> Gatekeeper:
    """A gatekeeper of that store."""
    return Gatekeeper(
        store=store,
        pepper=PEPPER,
        plans=Settings().plans,
        clock=lambda: NOW,
        timer=clock,
        failures=FailedKeys(20, clock),
    )


async def outcome(
    keeper: Gatekeeper, key: str | None, where_from: Callable[[], str] = here
) -> Caller | Exception:
    try:
        return await keeper.identify(key, where_from)
    except (InvalidApiKey, MissingApiKey, TooManyAuthFailures) as error:
        return error


async def failed_often(keeper: Gatekeeper, key: Callable[[], str] = mint_key) -> list[type]:
    """What each of 25 keys is answered."""
    return [type(await outcome(keeper, key())) for _ in range(25)]


TOO_MANY = [InvalidApiKey] * 20 + [TooManyAuthFailures] * 5


@pytest.mark.parametrize(
    "key",
    [mint_key, partial(str, "x"), partial(str, mint_key()), partial(str, "sgw_" + "a" * 36)],
    ids=["ever-new keys", "no key by its form", "one key", "wrong checksum"],
)
async def test_too_many_wrong_keys_are_told_to_wait(
    keeper: Gatekeeper, key: Callable[[], str]
) -> None:
    """Whatever is wrong with them, 20 are answered; the others must wait."""
    assert await failed_often(keeper, key) == TOO_MANY


async def test_a_revoked_and_an_expired_key_are_wrong_keys(
    keeper: Gatekeeper, store: Store
) -> None:
    """They answer as unknown ones do, also when it is too many."""
    revoked, expired = mint_key(), mint_key()
    store.add(revoked, replace(RECORD, id="k2", revoked_at=NOW))
    store.add(expired, replace(RECORD, id="k3", expires_at=NOW - timedelta(days=1)))
    answers = [vars(await keep) for keep in [refused(keeper, k) for k in (revoked, expired)]]
    await failed_often(keeper)
    late = [vars(await refused(keeper, key)) for key in (revoked, expired, mint_key())]

    assert answers[0] == answers[1]
    assert late[0] == late[1] == late[2]
    assert late[0]["retry_after_seconds"] == 3


async def refused(keeper: Gatekeeper, key: str) -> Exception:
    found = await outcome(keeper, key)
    assert isinstance(found, Exception)
    return found


async def test_a_key_that_counts_works_from_there(keeper: Gatekeeper, clock: ManualClock) -> None:
    """Be it in use, in use some time ago, or new."""
    in_use = await keeper.identify(GOOD, here)
    await failed_often(keeper)
    again = await keeper.identify(GOOD, here)
    clock.advance(6.0)
    await failed_often(keeper)
    later = await keeper.identify(GOOD, here)

    assert (in_use.key_id, again, later.key_id) == ("k1", in_use, "k1")


async def test_a_new_key_works_from_there(keeper: Gatekeeper) -> None:
    """There are look-ups left for such addresses."""
    await failed_often(keeper)

    assert (await keeper.identify(GOOD, here)).key_id == "k1"


async def test_others_are_not_held_up(keeper: Gatekeeper) -> None:
    """A wrong key from another address is answered as ever."""
    await failed_often(keeper)

    with pytest.raises(InvalidApiKey):
        await keeper.identify(mint_key(), lambda: "192.0.2.2")


async def test_a_key_that_counts_is_no_failure(keeper: Gatekeeper) -> None:
    """Nor is a request without a key."""
    for _ in range(50):
        await keeper.identify(GOOD, here)
        await outcome(keeper, None)

    assert await failed_often(keeper) == TOO_MANY


async def test_a_flood_of_guesses_does_not_reach_the_store(
    keeper: Gatekeeper, store: Store, clock: ManualClock
) -> None:
    """20 for the address, 20 for all such addresses; then 20 a second. A key in use is served."""
    await keeper.identify(GOOD, here)
    before = store.look_ups
    for _ in range(2000):
        await outcome(keeper, mint_key())
    flood = store.look_ups - before
    clock.advance(1.0)
    for _ in range(2000):
        await outcome(keeper, mint_key())
    later = store.look_ups - before - flood

    assert (flood, later) == (40, 20)
    assert (await keeper.identify(GOOD, here)).key_id == "k1"


async def test_a_flood_at_once_waits_for_its_turn(keeper: Gatekeeper, store: Store) -> None:
    """No more than a few guesses are looked up at once, and the others are counted first."""
    await asyncio.gather(*(outcome(keeper, mint_key()) for _ in range(1000)))

    assert store.most_at_once <= MAX_LOOK_UPS
    assert store.look_ups <= 40 + MAX_LOOK_UPS


async def test_many_new_keys_at_once_are_all_served(keeper: Gatekeeper, store: Store) -> None:
    """After a restart behind a proxy all keys are new and come from one address."""
    keys = [mint_key() for _ in range(200)]
    for number, key in enumerate(keys):
        store.add(key, replace(RECORD, id=f"k{number}"))
    found = await asyncio.gather(*(outcome(keeper, key) for key in keys for _ in range(3)))

    assert {type(each) for each in found} == {Caller}
    assert store.look_ups == 200


async def test_a_flood_pushes_out_no_key_in_use(store: Store, clock: ManualClock) -> None:
    """Keys that count are kept apart: guesses from ever-new addresses leave them alone."""
    keeper = Gatekeeper(
        store=store, pepper=PEPPER, plans=Settings().plans, clock=lambda: NOW, timer=clock
    )
    await keeper.identify(GOOD, here)
    for number in range(10_100):
        await outcome(keeper, mint_key(), partial(str, number))
    before = store.look_ups
    await keeper.identify(GOOD, here)

    assert store.look_ups == before


async def test_a_revocation_counts_in_its_time_during_a_flood(
    keeper: Gatekeeper, store: Store, clock: ManualClock
) -> None:
    """5 seconds later the key is refused, whatever else goes on."""
    await keeper.identify(GOOD, here)
    await failed_often(keeper)
    store.add(GOOD, replace(RECORD, revoked_at=NOW))
    clock.advance(5.0)

    with pytest.raises((InvalidApiKey, TooManyAuthFailures)):
        await keeper.identify(GOOD, here)
    with pytest.raises((InvalidApiKey, TooManyAuthFailures)):
        await keeper.identify(GOOD, here)


async def test_a_key_that_was_revoked_is_looked_up_as_any_other(
    keeper: Gatekeeper, store: Store, clock: ManualClock
) -> None:
    """Once in its time: that it counted once is no reason to ask for it each time."""
    await keeper.identify(GOOD, here)
    store.add(GOOD, replace(RECORD, revoked_at=NOW))
    clock.advance(5.0)
    for _ in range(10):
        await outcome(keeper, GOOD)

    assert store.look_ups == 2


async def test_uses_are_told_of_keys_that_count(store: Store, clock: ManualClock) -> None:
    """At each look-up that finds one, and for no other key."""
    used: list[str] = []
    expired = mint_key()
    store.add(expired, replace(RECORD, id="k3", expires_at=NOW))
    keeper = Gatekeeper(
        store=store,
        pepper=PEPPER,
        plans=Settings().plans,
        clock=lambda: NOW,
        timer=clock,
        used=used.append,
    )
    for key in (GOOD, GOOD, expired, mint_key()):
        await outcome(keeper, key)
    clock.advance(5.0)
    await outcome(keeper, GOOD)

    assert used == ["k1", "k1"]
