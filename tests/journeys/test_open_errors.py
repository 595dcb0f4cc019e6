"""Errors are readable for pages of other origins."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.journeys.conftest import Api, OpenGateway
from tests.journeys.failure import is_open
from tests.journeys.test_edge_refusals import CODES, REFUSED
from tests.server.wire import exchange

PAGE = "https://page.example"
OF_GOOGLE: Mapping[str, Mapping[str, Any]] = {
    "502": {"status": 500},
    "503": {"status": 429},
    "413": {"status": 200, "text": "[" + " " * 2_000_000},
    "422": {
        "status": 400,
        "text": '{"error":{"code":400,"message":"This operation is not supported for this '
        'document","status":"FAILED_PRECONDITION"}}',
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_before_it_is_understood_can_be_read_by_pages(
    shared_api: Api, case: str
) -> None:
    """Its origin may be unknown, so every page may read it."""
    (answer,) = exchange(shared_api.url, REFUSED[case])

    assert answer.saw == CODES[case]
    assert is_open(answer.headers)


@pytest.mark.parametrize("name", OF_GOOGLE)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_google_fails_in_can_be_read_by_pages(
    open_gateway: OpenGateway, name: str, method: str
) -> None:
    """Errors of the way behind the gateway are errors of the API, to pages as to others."""
    api = open_gateway({"google.max_answer_bytes": 1_000_000})
    api.emulator.faults({"call": "*", "times": 99, **OF_GOOGLE[name]})

    answer = api.send(method, "Cities", json={"name": "x"}, headers={"Origin": PAGE})

    assert answer.status_code == int(name)
    assert is_open(answer.headers)
