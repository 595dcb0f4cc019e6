"""From key to caller."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.access.address_rates import DEFAULT_PER_MINUTE
from gateway.access.caller import Caller
from gateway.access.issue import KeyRequest
from gateway.access.keys import ActiveKeys, Gatekeeper, mint_key
from gateway.errors import InvalidApiKey, MissingApiKey, PlanLimit
from gateway.settings.plans import PlanSettings
from gateway.storage.key_store import Grants, KeyStore
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
    """A gatekeeper whose clock stands still."""
    return Gatekeeper(
        keys=ActiveKeys(store.changes, plans, clock=lambda: now, tag_key=pepper),
        pepper=pepper,
        clock=lambda: now,
    )


async def test_a_key_is_known_with_all_its_grants(store: KeyStore) -> None:
    """The caller has the plan and the grants that the key was made with."""
    record, key = await issue(store, NARROW)
    caller = await gatekeeper(store).identify(key, here)

    assert caller == Caller(
        key_id=record.id,
        name="browser",
        plan_name="free",
        plan=PlanSettings(where_and_order=False),
        grants=Grants(
            spreadsheets=frozenset({"one"}),
            worksheets=frozenset({"Cities"}),
            may_create=False,
            may_update=False,
            origins=frozenset({"https://a.org"}),
        ),
        expires=True,
    )


async def test_a_caller_is_the_same_object_each_time(store: KeyStore) -> None:
    """Requests with the same known key get the same cached caller object."""
    _, key = await issue(store, WIDE)
    keeper = gatekeeper(store)

    assert await keeper.identify(key, here) is await keeper.identify(key, here)


async def test_each_key_is_its_own_caller(store: KeyStore) -> None:
    """Two keys never get the same caller."""
    narrow, narrow_key = await issue(store, NARROW)
    _, wide_key = await issue(store, WIDE)
    keeper = gatekeeper(store)

    assert (await keeper.identify(narrow_key, here)).key_id == narrow.id
    assert (await keeper.identify(wide_key, here)).grants == Grants(spreadsheets=None)


@pytest.mark.parametrize("key", [None, "", "  \t"], ids=["none", "empty", "blanks"])
async def test_error_without_a_key_says_how_to_send_one(store: KeyStore, key: str | None) -> None:
    """The error of a request without a key says where to send a key."""
    with pytest.raises(MissingApiKey, match="Authorization: Bearer"):
        await gatekeeper(store).identify(key, here)


async def test_all_keys_that_do_not_count_answer_alike(store: KeyStore) -> None:
    """Mistyped, unknown, revoked, expired keys and keys of another pepper get the same answer."""
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


async def test_a_key_expires_at_its_instant(store: KeyStore) -> None:
    """A key is valid until its expiry time, and invalid from this time on."""
    record, key = await issue(store, NARROW)
    just_before = NOW + timedelta(hours=1, microseconds=-1)
    caller = await gatekeeper(store, now=just_before).identify(key, here)

    assert caller.key_id == record.id
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
async def test_any_text_is_refused_in_order(store: KeyStore, key: str) -> None:
    """Any text as key gets one of the two errors: missing key or invalid key."""
    with pytest.raises((InvalidApiKey, MissingApiKey)):
        await gatekeeper(store).identify(key, here)


async def test_a_gatekeeper_shows_no_pepper(store: KeyStore) -> None:
    """The pepper is not in the `repr` that a traceback or a log shows."""
    assert repr(PEPPER) not in repr(gatekeeper(store))
    assert "pepper=" not in repr(gatekeeper(store))


async def test_no_key_is_kept(store: KeyStore) -> None:
    """The gatekeeper stores neither the key nor the pepper, and its `repr` shows neither."""
    _, key = await issue(store, WIDE)
    keeper = gatekeeper(store)
    await keeper.identify(key, here)

    for shown in (repr(keeper), repr(vars(keeper.keys))):
        assert key not in shown
        assert repr(PEPPER) not in shown


@pytest.mark.parametrize("text", ["Token {}", "Bearer {}", "Basic {}", '"{}"', "undefined"])
async def test_text_that_no_key_can_be_is_not_counted(store: KeyStore, text: str) -> None:
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
