"""Whether Google accepted an account since the start."""

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
async def test_an_account_is_asked_for_again_after_a_while(
    settings: GoogleSettings, google: FakeGoogle, failure: httpx.Response | httpx2.ConnectError
) -> None:
    """Each failure counts for `SIGN_IN_EVERY_SECONDS`; a token is accepted for good."""
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
    """All are asked, at once."""
    google.token.mock(side_effect=[REFUSED, token_answer("t")])
    async with open_client(settings) as first, open_client(settings) as second:
        acceptance = Acceptance([first, second], Accounts([], clock=ManualClock()))

        assert await acceptance.found()
        assert google.token.call_count == 2


async def test_what_stands_in_for_google_is_accepted() -> None:
    """It has no accounts."""
    assert await Acceptance([StandIn(FakeSheets())], Accounts([], clock=ManualClock())).found()
