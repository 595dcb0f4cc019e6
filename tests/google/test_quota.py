"""Limits that Google names in a 429, in recorded wording."""

from typing import Any

import httpx
import pytest

from gateway.errors import QuotaSpent
from gateway.settings.model import GoogleSettings
from tests.google.google_fake import FakeGoogle, read_and_write

USUAL = {"quota_limit_value": "60", "quota_unit": "1/min/{project}/{user}"}
INFO = "type.googleapis.com/google.rpc.ErrorInfo"
HELP = {"@type": "type.googleapis.com/google.rpc.Help", "links": []}


def spent(*metadata: Any, status: int = 429) -> httpx.Response:
    details: list[Any] = [
        {"@type": INFO, "reason": "RATE_LIMIT_EXCEEDED", "metadata": each} for each in metadata
    ]
    error = {"code": status, "status": "RESOURCE_EXHAUSTED", "details": [*details, HELP]}
    return httpx.Response(status, json={"error": error})


LIMITS = {
    "told": (spent(USUAL), 60),
    "as 403": (spent(USUAL, status=403), 60),
    "the lower of two": (spent(USUAL, USUAL | {"quota_limit_value": "30"}), 30),
    "of a project": (spent(USUAL | {"quota_unit": "1/min/{project}"}), 60),
    "not told": (spent({"quota_limit": "WriteRequestsPerMinutePerUser"}), None),
    "of a day": (spent(USUAL | {"quota_unit": "1/d/{project}"}), None),
    "zero": (spent(USUAL | {"quota_limit_value": "0"}), None),
    "unlimited": (spent(USUAL | {"quota_limit_value": "-1"}), None),
    "no number": (spent(USUAL | {"quota_limit_value": "many"}), None),
    "other digits": (spent(USUAL | {"quota_limit_value": "６０"}), None),
    "huge": (spent(USUAL | {"quota_limit_value": "9" * 5000}), None),
    "another type": (spent(USUAL | {"quota_limit_value": 60}), None),
    "another shape": (spent(["60"], None, 60), None),
    "HTML": (httpx.Response(429, html="<p>"), None),
}


@pytest.mark.parametrize(("answer", "limit"), LIMITS.values(), ids=LIMITS)
async def test_the_limit_of_a_429_is_parsed(
    answer: httpx.Response, limit: int | None, settings: GoogleSettings, google: FakeGoogle
) -> None:
    """`limit` is the lowest limit per minute in a 429; other limits are ignored."""
    google.sheets.mock(return_value=answer)

    read, write = await read_and_write(settings)

    assert isinstance(read, QuotaSpent)
    assert isinstance(write, QuotaSpent)
    assert (read.limit, write.limit) == (limit, limit)
    assert (read.is_from_google, write.is_from_google) == (True, True)
