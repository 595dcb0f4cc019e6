"""Denied requests beside those of the matrix: names that look alike, and other mistakes."""

from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import anonymous, refused

OPERATIONS = [
    ("GET", ""),
    ("GET", "/2"),
    ("POST", ""),
    ("POST", "/2"),
    ("PUT", "/2"),
    ("PATCH", "/2"),
]


def visible(answer: httpx2.Response) -> tuple[Any, ...]:
    """The parts of an answer that a client can compare: no date, request ID or rate."""
    varying = {"date", "x-request-id", "ratelimit"}
    headers = sorted(pair for pair in answer.headers.items() if pair[0] not in varying)
    return answer.status_code, headers, anonymous(answer)


@pytest.mark.parametrize(("method", "row"), OPERATIONS)
def test_an_unknown_spreadsheet_answers_as_a_denied_one(
    shared_api: Api, method: str, row: str
) -> None:
    """A spreadsheet that Google does not know gets the same body as one that is not granted."""
    denied, unknown = (
        shared_api.send(method, f"Cities{row}", key=key, spreadsheet="unknown", json={"name": "x"})
        for key in ("paid", "any")
    )

    assert refused(unknown) == (404, 101)
    assert anonymous(denied) == anonymous(unknown)
    assert denied.status_code == unknown.status_code
    assert shared_api.emulator.calls()[1] == 0


@pytest.mark.parametrize(("method", "row"), OPERATIONS)
def test_a_denied_worksheet_answers_as_one_that_is_not_there(
    shared_api: Api, method: str, row: str
) -> None:
    """A key for some worksheets gets the same 403 for existing and for missing other worksheets."""
    answers = [
        shared_api.send(method, f"{worksheet}{row}", key="cities", json={"name": "x"})
        for worksheet in ("New", "Nowhere", "cities", "A%2FB", "%20Cities")
    ]

    assert len({repr(visible(answer)) for answer in answers}) == 1
    assert refused(answers[0]) == (403, 4032)
    assert shared_api.emulator.stats()["calls"] == {}


def test_cached_rows_of_another_key_are_denied(shared_api: Api) -> None:
    """Rows cached by another key are not served to a key that was not granted the spreadsheet."""
    seen = shared_api.get("Secret", key="any", spreadsheet="third")
    shared_api.emulator.reset()

    answers = [
        shared_api.get(path, key=key, spreadsheet="third")
        for path in ("Secret", "Secret/2", "Secret?order=name")
        for key in ("paid", "two", "cities", "read-only")
    ]

    assert "top secret" in seen.text
    assert {refused(answer) for answer in answers} == {(404, 101)}
    assert all("secret" not in answer.text.lower() for answer in answers)
    assert shared_api.emulator.stats()["calls"] == {}


def test_a_denied_request_is_refused_before_its_query_and_body(shared_api: Api) -> None:
    """A denied request with an invalid query or body gets the same error as a valid one."""
    answers = [
        shared_api.get("Cities", spreadsheet="third", params={"where": "{", "limit": "x"}),
        shared_api.post("Cities", spreadsheet="third", content=b"{"),
        shared_api.get("New", key="cities", params={"order": "-"}),
        shared_api.post("Cities", key="read-only", content=b"\xff"),
    ]

    assert [refused(answer)[1] for answer in answers] == [101, 101, 4032, 4050]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("key", ["paid", "two", "cities", "read-only"])
def test_names_that_only_look_alike_are_not_granted(shared_api: Api, key: str) -> None:
    """Spreadsheet IDs are compared exactly: similar IDs get 404 like any other."""
    answers = [
        shared_api.get("Cities", key=key, spreadsheet=spreadsheet)
        for spreadsheet in ("Demo", "DEMO", "dem", "demo_", "demo-1", "demodemo", "_demo", "third")
    ]

    assert {refused(answer) for answer in answers} == {(404, 101)}
    assert len({anonymous(answer) for answer in answers}) == 1
    assert shared_api.emulator.stats()["calls"] == {}
