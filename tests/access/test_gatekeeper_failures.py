"""Gatekeeper with addresses above the limit of invalid keys."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

import pytest

from gateway.access.address_rates import AddressRates
from gateway.access.caller import Caller
from gateway.access.keys import ActiveKeys, Gatekeeper, mint_key
from gateway.errors import InvalidApiKey, MissingApiKey, TooManyAuthFailures
from gateway.storage.key_store import KeyStore
from tests.access.conftest import NOW, here
from tests.access.watched import PEPPER, WIDE, Instant, WatchedStore, active_keys, issue
from tests.clock import ManualClock


@dataclass
class Scene:
    """A gatekeeper with its clock and store, and `used`: the IDs of keys reported as used."""

    watched: WatchedStore
    now: Instant
    keys: ActiveKeys
    used: list[str]
    keeper: Gatekeeper


@pytest.fixture
async def scene(store: KeyStore, clock: ManualClock) -> AsyncIterator[Scene]:
    """A gatekeeper of a watched store without keys, which allows 20 invalid keys a minute."""
    watched, now, used = WatchedStore(store), Instant(), list[str]()
    async with aclosing(active_keys(watched, clock, now)) as keys:
        keeper = Gatekeeper(
            keys=keys, pepper=PEPPER, clock=now, failures=AddressRates(20, clock), used=used.append
        )
        yield Scene(watched, now, keys, used, keeper)


@pytest.fixture
def keeper(scene: Scene) -> Gatekeeper:
    """The gatekeeper of `scene`."""
    return scene.keeper


async def outcome(
    keeper: Gatekeeper, key: str | None, where_from: Callable[[], str] = here
) -> Caller | Exception:
    try:
        return await keeper.identify(key, where_from)
    except (InvalidApiKey, MissingApiKey, TooManyAuthFailures) as error:
        return error


async def ids(keeper: Gatekeeper, keys: Iterable[str]) -> list[str]:
    """Key IDs of the callers of these keys."""
    return [(await keeper.identify(key, here)).key.id for key in keys]


async def failed_often(
    keeper: Gatekeeper, key: Callable[[], str] = mint_key, count: int = 25
) -> list[type]:
    """Send `count` invalid keys at once and return the types of the errors."""
    found = await asyncio.gather(*(outcome(keeper, key()) for _ in range(count)))
    return [type(each) for each in found]


TOO_MANY = [InvalidApiKey] * 20 + [TooManyAuthFailures] * 5


@pytest.mark.parametrize(
    "key",
    [mint_key, partial(str, "x"), partial(str, mint_key()), partial(str, "sgw_" + "a" * 36)],
    ids=["ever-new keys", "no key by its form", "one key", "wrong checksum"],
)
async def test_too_many_invalid_keys_get_a_retry_time(
    keeper: Gatekeeper, key: Callable[[], str]
) -> None:
    """After 20 invalid keys, further ones get an error with a retry time."""
    assert await failed_often(keeper, key) == TOO_MANY


async def test_revoked_and_expired_keys_count_as_invalid(
    keeper: Gatekeeper, store: KeyStore, scene: Scene
) -> None:
    """Revoked and expired keys get the same answers as unknown keys, also above the limit."""
    record, revoked = await issue(store)
    await store.revoke(record.id, NOW)
    _, expired = await issue(store, replace(WIDE, expires_at=NOW + timedelta(hours=1)))
    scene.now.now += timedelta(hours=1)
    wrong = (revoked, expired, mint_key())
    early = [vars(await refused(keeper, key)) for key in wrong]
    await failed_often(keeper)
    late = [await refused(keeper, key) for key in wrong]

    assert early == [early[0]] * 3
    assert [type(each) for each in late] == [TooManyAuthFailures] * 3
    assert {vars(each)["retry_after_seconds"] for each in late} == {3}


async def refused(keeper: Gatekeeper, key: str) -> Exception:
    found = await outcome(keeper, key)
    assert isinstance(found, Exception)
    return found


async def test_valid_keys_work_above_the_limit(
    keeper: Gatekeeper, store: KeyStore, clock: ManualClock
) -> None:
    """Valid keys are accepted from an address above the limit: in use, used earlier,
    never used, or just created.
    """
    issued = [await issue(store) for _ in range(40)]
    expected = [record.id for record, _ in issued]
    in_use = await ids(keeper, [issued[0][1]])
    await failed_often(keeper, count=1000)
    first_uses = await ids(keeper, (key for _, key in issued))
    clock.advance(6.0)
    await failed_often(keeper, count=1000)
    again = await ids(keeper, (key for _, key in issued))
    new = [await issue(store) for _ in range(40)]

    assert (in_use, first_uses, again) == (expected[:1], expected, expected)
    assert await ids(keeper, (key for _, key in new)) == [record.id for record, _ in new]


async def test_valid_keys_work_while_guesses_wait_for_the_store(
    keeper: Gatekeeper, store: KeyStore, scene: Scene
) -> None:
    """While unknown keys wait for the store, cached keys are accepted at once, and new
    keys after the lookup.
    """
    await failed_often(keeper)
    known = [await issue(store) for _ in range(20)]
    await scene.keys.load()
    scene.watched.keep_waiting()
    guesses = [asyncio.create_task(outcome(keeper, mint_key())) for _ in range(50)]
    await scene.watched.is_asked.wait()
    served = await ids(keeper, (key for _, key in known))
    new = [await issue(store) for _ in range(20)]
    waiting = [asyncio.create_task(outcome(keeper, key)) for _, key in new]
    scene.watched.gate.set()
    found = await asyncio.gather(*waiting)

    assert served == [record.id for record, _ in known]
    assert [each.key.id for each in found if isinstance(each, Caller)] == [
        record.id for record, _ in new
    ]
    assert {type(each) for each in await asyncio.gather(*guesses)} == {TooManyAuthFailures}


async def test_other_addresses_are_not_limited(keeper: Gatekeeper) -> None:
    """An invalid key from an address below the limit gets the usual error."""
    await failed_often(keeper)

    with pytest.raises(InvalidApiKey):
        await keeper.identify(mint_key(), lambda: "192.0.2.2")


async def test_valid_and_missing_keys_do_not_count(keeper: Gatekeeper, store: KeyStore) -> None:
    """Requests with a valid key, and requests without a key, do not count as failures."""
    _, good = await issue(store)
    for _ in range(50):
        await keeper.identify(good, here)
        await outcome(keeper, None)

    assert await failed_often(keeper) == TOO_MANY


async def test_simultaneous_guesses_cause_one_query(keeper: Gatekeeper, scene: Scene) -> None:
    """Unknown keys with a valid checksum are looked up together, so that a flood causes
    few queries.
    """
    await scene.keys.load()
    before = scene.watched.asked
    await failed_often(keeper, count=10_000)

    assert scene.watched.asked - before == 1


async def test_a_mistyped_key_does_not_reach_the_store(
    keeper: Gatekeeper, store: KeyStore, scene: Scene
) -> None:
    """A key with a wrong checksum causes no query, also while a similar key is in use."""
    _, good = await issue(store)
    await keeper.identify(good, here)
    before = scene.watched.asked
    other_end = "0" if good[-1] != "0" else "1"
    for key in (good[:-1] + other_end, good[:-1], good + "0", "k" * 10_000):
        await refused(keeper, key)

    assert scene.watched.asked == before


async def test_a_key_in_use_expires_without_a_query(
    keeper: Gatekeeper, store: KeyStore, scene: Scene
) -> None:
    """A cached key expires at its expiry time without a query of the store."""
    record, key = await issue(store, replace(WIDE, expires_at=NOW + timedelta(seconds=1)))
    first = await ids(keeper, [key])
    before = scene.watched.asked
    scene.now.now += timedelta(seconds=1)

    assert first == [record.id]
    assert isinstance(await refused(keeper, key), InvalidApiKey)
    assert scene.watched.asked == before


async def test_a_revocation_applies_in_time_during_a_flood(
    keeper: Gatekeeper, store: KeyStore, clock: ManualClock
) -> None:
    """A revoked key is rejected after 4.5 seconds, also during a flood of invalid keys."""
    record, key = await issue(store)
    await ids(keeper, [key])
    await failed_often(keeper)
    await store.revoke(record.id, NOW)
    clock.advance(4.5)

    for _ in range(2):
        assert isinstance(await refused(keeper, key), InvalidApiKey | TooManyAuthFailures)


async def test_only_uses_of_valid_keys_are_reported(
    keeper: Gatekeeper, store: KeyStore, scene: Scene
) -> None:
    """Uses are reported of valid keys only."""
    record, good = await issue(store)
    _, expired = await issue(store, replace(WIDE, expires_at=NOW + timedelta(seconds=1)))
    scene.now.now += timedelta(seconds=1)
    for key in (good, good, expired, mint_key(), None):
        await outcome(keeper, key)

    assert scene.used == [record.id] * 2
