"""Acceptance: whether Google has accepted an account since the start."""

import httpx
import httpx2
import pytest

from gateway.google.client import SIGN_IN_EVERY_SECONDS, Acceptance
from gateway.google.pipeline import Accounts
from gateway.settings.model import GoogleSettings
from tests.clock import ManualClock
from tests.fakes import FakeSheets
from tests.google.google_fake import FakeGoogle, token_answer
from tests.stand_in import StandIn, open_client

REFUSED = httpx.Response(401, json={"error": "invalid_client"})


@pytest.mark.parametrize("failure", [REFUSED, httpx2.ConnectError("away")], ids=["401", "away"])
async def test_sign_in_is_repeated_after_a_failure(
    settings: GoogleSettings, google: FakeGoogle, failure: httpx.Response | httpx2.ConnectError
) -> None:
    """A failed sign-in is repeated after `SIGN_IN_EVERY_SECONDS`; a successful sign-in is final."""
    google.token.mock(side_effect=[failure, token_answer("t"), failure])
    clock, found = ManualClock(), []
    async with open_client(settings) as client:
        acceptance = Acceptance([client], Accounts([], clock=clock), clock=clock)
        for seconds in (0.0, 0.0, SIGN_IN_EVERY_SECONDS - 1, 1.0, 3600.0):
            clock.advance(seconds)
            found.append((await acceptance.found(), google.token.call_count))
        await acceptance.aclose()

    assert found == [(False, 1), (False, 1), (False, 1), (True, 2), (True, 2)]


async def test_one_of_several_accounts_is_enough(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """All accounts sign in at once, and one success is enough."""
    google.token.mock(side_effect=[REFUSED, token_answer("t")])
    async with open_client(settings) as first, open_client(settings) as second:
        acceptance = Acceptance([first, second], Accounts([], clock=ManualClock()))

        assert await acceptance.found()
        assert google.token.call_count == 2


async def test_a_replacement_of_google_is_accepted() -> None:
    """A fake client, which has no account, counts as accepted."""
    assert await Acceptance([StandIn(FakeSheets())], Accounts([], clock=ManualClock())).found()
