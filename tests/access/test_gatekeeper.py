"""Tests of `Gatekeeper.identify`, which finds the caller of an API key."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.access.address_rates import DEFAULT_PER_MINUTE
from gateway.access.caller import Caller
from gateway.access.keys import ActiveKeys, Gatekeeper, mint_key
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit
from gateway.settings.model import PlanSettings
from gateway.storage.key_store import Grants, KeyRequest, KeyStore
from tests.access.conftest import NOW, here
from tests.access.watched import PEPPER, PLANS, WIDE, issue

NARROW = KeyRequest(
    name="browser",
    plan="free",
    grants=Grants(
        spreadsheets=frozenset({"one"}),
        worksheets=frozenset({"Cities"}),
        may_create=False,
        may_update=False,
        origins=frozenset({"https://a.org"}),
    ),
    expires_at=NOW + timedelta(hours=1),
)


def gatekeeper(
    store: KeyStore,
    now: datetime = NOW,
    pepper: bytes = PEPPER,
    plans: Mapping[str, PlanSettings] = PLANS,
) -> Gatekeeper:
    """Gatekeeper whose clock always returns `now`."""
    return Gatekeeper(
        keys=ActiveKeys(store.changes, plans, clock=lambda: now, tag_key=pepper),
        pepper=pepper,
        clock=lambda: now,
    )


async def test_a_caller_has_the_grants_of_its_key(store: KeyStore) -> None:
    """The caller has the plan and the grants with which the key was created."""
    record, key = await issue(store, NARROW)
    caller = await gatekeeper(store).identify(key, here)

    assert caller == Caller(key=record, plan=PlanSettings(where_and_order=False))
    assert (caller.key.name, caller.key.plan) == ("browser", "free")
    assert caller.key.grants == Grants(
        spreadsheets=frozenset({"one"}),
        worksheets=frozenset({"Cities"}),
        may_create=False,
        may_update=False,
        origins=frozenset({"https://a.org"}),
    )


async def test_a_caller_is_the_same_object_each_time(store: KeyStore) -> None:
    """Requests with the same known key get the same cached caller object."""
    _, key = await issue(store, WIDE)
    keeper = gatekeeper(store)

    assert await keeper.identify(key, here) is await keeper.identify(key, here)


async def test_two_keys_have_two_callers(store: KeyStore) -> None:
    """Two keys never get the same caller."""
    narrow, narrow_key = await issue(store, NARROW)
    _, wide_key = await issue(store, WIDE)
    keeper = gatekeeper(store)

    assert (await keeper.identify(narrow_key, here)).key.id == narrow.id
    assert (await keeper.identify(wide_key, here)).key.grants == Grants(spreadsheets=None)


@pytest.mark.parametrize("key", [None, "", "  \t"], ids=["none", "empty", "blanks"])
async def test_error_without_a_key_says_how_to_send_one(store: KeyStore, key: str | None) -> None:
    """The error of a request without a key says where to send a key."""
    with pytest.raises(MissingApiKey, match="Authorization: Bearer"):
        await gatekeeper(store).identify(key, here)


async def test_all_invalid_keys_get_the_same_error(store: KeyStore) -> None:
    """Mistyped, unknown, revoked and expired keys, and keys of another
    pepper, get the same error."""
    revoked, revoked_key = await issue(store, WIDE)
    await store.revoke(revoked.id, NOW)
    _, expired_key = await issue(store, NARROW)
    _, good_key = await issue(store, WIDE)
    later = gatekeeper(store, now=NOW + timedelta(hours=1))
    attempts = [
        (later, revoked_key),
        (later, expired_key),
        (later, mint_key()),
        (later, "sgw_" + good_key[4:].swapcase()),
        (gatekeeper(store, pepper=bytes(32)), good_key),
    ]
    answers = []
    for keeper, key in attempts:
        with pytest.raises(InvalidApiKey) as refusal:
            await keeper.identify(key, here)
        answers.append(vars(refusal.value))

    assert answers == [answers[0]] * len(attempts)


async def test_a_key_expires_exactly_at_its_expiry(store: KeyStore) -> None:
    """A key is valid until its expiry time, and invalid from this time on."""
    record, key = await issue(store, NARROW)
    just_before = NOW + timedelta(hours=1, microseconds=-1)
    caller = await gatekeeper(store, now=just_before).identify(key, here)

    assert caller.key.id == record.id
    with pytest.raises(InvalidApiKey):
        await gatekeeper(store, now=NOW + timedelta(hours=1)).identify(key, here)


async def test_key_of_a_missing_plan(store: KeyStore) -> None:
    """The message says what the holder of the key has to report to the operator."""
    _, key = await issue(store, WIDE)
    keeper = gatekeeper(store, plans={"free": PlanSettings()})

    for _ in range(2):
        with pytest.raises(PlanLimit, match=r"plan 'paid' .*operator"):
            await keeper.identify(key, here)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.text(alphabet=st.characters(codec=None, exclude_categories=()), min_size=1))
async def test_any_text_as_key_gets_a_defined_error(store: KeyStore, key: str) -> None:
    """Any text as key gets one of the two errors: missing key or invalid key."""
    with pytest.raises((InvalidApiKey, MissingApiKey)):
        await gatekeeper(store).identify(key, here)


async def test_repr_of_a_gatekeeper_has_no_pepper(store: KeyStore) -> None:
    """The pepper is not in the `repr` that a traceback or a log shows."""
    assert repr(PEPPER) not in repr(gatekeeper(store))
    assert "pepper=" not in repr(gatekeeper(store))


async def test_no_key_is_stored_in_memory(store: KeyStore) -> None:
    """The gatekeeper stores neither the key nor the pepper, and its `repr` shows neither."""
    _, key = await issue(store, WIDE)
    keeper = gatekeeper(store)
    await keeper.identify(key, here)

    for shown in (repr(keeper), repr(vars(keeper.keys))):
        assert key not in shown
        assert repr(PEPPER) not in shown


@pytest.mark.parametrize("text", ["Token {}", "Bearer {}", "Basic {}", '"{}"', "undefined"])
async def test_malformed_credentials_do_not_count_as_failures(store: KeyStore, text: str) -> None:
    """Credentials that cannot be a key, as of another scheme, do not count for the limit
    of invalid keys.
    """
    _, key = await issue(store, WIDE)
    keeper = gatekeeper(store)
    for _ in range(3 * DEFAULT_PER_MINUTE):
        with pytest.raises(InvalidApiKey, match="Bearer KEY") as refusal:
            await keeper.identify(text.format(key), here)
        assert key not in refusal.value.message

    with pytest.raises(InvalidApiKey, match="mistyped"):
        await keeper.identify(mint_key(), here)
