"""Which errors of the adapter say that Google is away."""

import httpx
import httpx2
import pytest

from gateway.errors import QuotaSpent, UpstreamError, UpstreamUnreachable
from gateway.google.outage import is_brief_outage, is_outage
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import FakeGoogle, error_answer, read_and_write

ANSWERS = {
    "500": (error_answer(500, "INTERNAL"), True),
    "503 as HTML": (httpx.Response(503, html="<p>"), True),
    "redirect": (httpx.Response(302, headers={"location": "https://example.org"}), True),
    "quota": (error_answer(429, "RESOURCE_EXHAUSTED"), False),
    "bad range": (error_answer(400, "INVALID_ARGUMENT"), False),
    "not shared": (error_answer(403, "PERMISSION_DENIED"), False),
    "unknown id": (error_answer(404, "NOT_FOUND"), False),
    "another 4xx": (error_answer(409, "ABORTED"), False),
    "too large": (httpx.Response(413), False),
}
BROKEN = {
    "not reached": (httpx2.ConnectError("refused"), True),
    "no connection in time": (httpx2.ConnectTimeout("slow"), True),
    "no connection free": (httpx2.PoolTimeout("busy"), True),
    "broken": (httpx2.ReadError("reset"), True),
    "no answer in time": (httpx2.ReadTimeout("slow"), False),
}


@pytest.mark.parametrize(("answer", "fails"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_of_googles_own_trouble_is_an_outage(
    answer: httpx.Response, fails: bool, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """Google's 5xx is an outage, for reads and writes; its refusals are none."""
    google.sheets.mock(return_value=answer)

    read, write = await read_and_write(settings)

    assert (is_outage(read), is_outage(write)) == (fails, fails)
    assert is_brief_outage(read) is fails


@pytest.mark.parametrize(("error", "is_brief"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_way_is_an_outage(
    error: Exception, is_brief: bool, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """What did not reach Google or broke off is an outage; one that took all its time not brief."""
    google.sheets.mock(side_effect=error)

    read, write = await read_and_write(settings)

    assert (is_outage(read), is_outage(write)) == (True, True)
    assert is_brief_outage(read) is is_brief


async def test_an_answer_that_makes_no_sense_is_no_outage_of_reads(
    settings: GoogleSettings, google: FakeGoogle
) -> None:
    """One worksheet whose answers cannot be read does not keep the others from being read."""
    google.sheets.mock(return_value=httpx.Response(200, html="<html>"))

    read, _ = await read_and_write(settings)

    assert not is_outage(read)


def test_errors_of_no_known_cause() -> None:
    """What fakes raise counts by its class alone."""
    errors = [UpstreamError("failed"), UpstreamUnreachable("away"), QuotaSpent("spent")]

    assert [is_outage(error) for error in errors] == [True, True, False]
