"""Denied requests: keys x spreadsheets x worksheets x operations, refused without a call."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import anonymous, refused

SPREADSHEETS = ("demo", "other", "third", "private", "unknown")
"""Three that are there, one that is not shared with the account, one that is not there."""
WORKSHEETS = ("Cities", "New", "Secret", "Nowhere", "cities", "Cities ", "A%2FB")
OPERATIONS = [
    ("GET", ""),
    ("GET", "/2"),
    ("POST", ""),
    ("POST", "/2"),
    ("PUT", "/2"),
    ("PATCH", "/2"),
]


@dataclass(frozen=True, kw_only=True)
class May:
    """Grants of a key; None is any."""

    spreadsheets: frozenset[str] | None
    worksheets: frozenset[str] | None = None
    write: bool = True


DEMO = frozenset({"demo"})
MAY: Mapping[str, May] = {
    "paid": May(spreadsheets=DEMO),
    "free": May(spreadsheets=DEMO),
    "read-only": May(spreadsheets=DEMO, write=False),
    "cities": May(spreadsheets=DEMO, worksheets=frozenset({"Cities"})),
    "misnamed": May(spreadsheets=DEMO, worksheets=frozenset({"Citiez", "New"})),
    "two": May(spreadsheets=frozenset({"demo", "other"})),
    "pages": May(spreadsheets=DEMO),
    "any": May(spreadsheets=None),
}


def denial(key: str, spreadsheet: str, worksheet: str, method: str) -> tuple[int, int] | None:
    """Status and code of what a key may not do; None if it may."""
    may = MAY[key]
    if may.spreadsheets is not None and spreadsheet not in may.spreadsheets:
        return 404, 101
    if may.worksheets is not None and worksheet not in may.worksheets:
        return 403, 4032
    if method != "GET" and not may.write:
        return 405, 4050
    return None


def cells(key: str, spreadsheet: str) -> Iterator[tuple[str, str, str]]:
    """Worksheet, method and path of every operation."""
    for worksheet in WORKSHEETS:
        for method, row in OPERATIONS:
            yield worksheet, method, f"{worksheet}{row}"


@pytest.mark.parametrize("spreadsheet", SPREADSHEETS)
@pytest.mark.parametrize("key", MAY)
def test_what_is_not_granted_is_refused_without_a_call(
    shared_api: Api, key: str, spreadsheet: str
) -> None:
    """Every denied cell of the matrix has its code; nothing is read or written."""
    before = shared_api.emulator.everything()
    asked = [
        (denial(key, spreadsheet, worksheet, method), method, path)
        for worksheet, method, path in cells(key, spreadsheet)
    ]

    answers = {
        (method, path): shared_api.send(
            method, path, key=key, spreadsheet=spreadsheet, json={"name": "intruder"}
        )
        for expected, method, path in asked
        if expected is not None
    }

    for expected, method, path in asked:
        assert expected is None or refused(answers[method, path]) == expected
    assert shared_api.emulator.stats()["calls"] == {}
    assert shared_api.emulator.everything() == before


@pytest.mark.parametrize("key", MAY)
def test_what_is_granted_is_not_refused(shared_api: Api, key: str) -> None:
    """Every cell that is granted gets past the key: a read is served, an empty write is 104."""
    may = [
        (worksheet, method, path)
        for worksheet, method, path in cells(key, "demo")
        if denial(key, "demo", worksheet, method) is None
    ]

    answers = {
        (worksheet, method): shared_api.send(method, path, key=key, json={})
        for worksheet, method, path in may
    }

    assert answers
    for (worksheet, method), answer in answers.items():
        if method != "GET":
            assert refused(answer) == (400, 104)
        elif worksheet in ("Cities", "A%2FB"):
            assert answer.status_code == 200
        else:
            assert answer.status_code == 200 or answer.json()["code"] in (103, 105)


def visible(answer: httpx2.Response) -> tuple[Any, ...]:
    """All of an answer that its receiver sees, besides when it came, its id and what is left."""
    varying = {"date", "x-request-id", "ratelimit"}
    headers = sorted(pair for pair in answer.headers.items() if pair[0] not in varying)
    return answer.status_code, headers, anonymous(answer)


@pytest.mark.parametrize(("method", "row"), OPERATIONS)
@pytest.mark.parametrize("key", ["paid", "read-only", "cities", "misnamed", "two"])
def test_a_denied_spreadsheet_answers_as_an_unknown_one(
    shared_api: Api, key: str, method: str, row: str
) -> None:
    """Missing, unshared and denied spreadsheets cannot be distinguished."""
    answers = [
        shared_api.send(method, f"{worksheet}{row}", key=key, spreadsheet=spreadsheet, json={})
        for spreadsheet in ("third", "private", "unknown", "x" * 44)
        for worksheet in ("Cities", "Secret", "Nowhere")
    ]

    assert len({repr(visible(answer)) for answer in answers}) == 1
    assert refused(answers[0]) == (404, 101)
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize(("method", "row"), OPERATIONS)
def test_googles_own_not_found_answers_alike(shared_api: Api, method: str, row: str) -> None:
    """An id that Google does not know gets the bytes of one that is not granted."""
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
    """A key of some worksheets cannot find out which others there are."""
    answers = [
        shared_api.send(method, f"{worksheet}{row}", key="cities", json={"name": "x"})
        for worksheet in ("New", "Nowhere", "cities", "A%2FB", "%20Cities")
    ]

    assert len({repr(visible(answer)) for answer in answers}) == 1
    assert refused(answers[0]) == (403, 4032)
    assert shared_api.emulator.stats()["calls"] == {}


def test_what_another_key_has_read_is_denied_all_the_same(shared_api: Api) -> None:
    """Nothing that is remembered of a worksheet is open to a key that was not granted it."""
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
    """Other problems are not reported: they could distinguish spreadsheets."""
    answers = [
        shared_api.get("Cities", spreadsheet="third", params={"where": "{", "limit": "x"}),
        shared_api.post("Cities", spreadsheet="third", content=b"{"),
        shared_api.get("New", key="cities", params={"order": "-"}),
        shared_api.post("Cities", key="read-only", content=b"\xff"),
    ]

    assert [refused(answer)[1] for answer in answers] == [101, 101, 4032, 4050]
    assert shared_api.emulator.stats()["calls"] == {}


def test_a_read_only_key_gets_the_allowed_methods(shared_api: Api) -> None:
    """A write with a key that may only read is 405 and lists the reading methods."""
    answer = shared_api.post("Cities", key="read-only", json={"name": "x"})

    assert refused(answer) == (405, 4050)
    assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize("key", ["paid", "two", "cities", "read-only"])
def test_names_that_only_look_alike_are_not_granted(shared_api: Api, key: str) -> None:
    """A spreadsheet id is compared exactly: case, prefix and neighbours count."""
    answers = [
        shared_api.get("Cities", key=key, spreadsheet=spreadsheet)
        for spreadsheet in ("Demo", "DEMO", "dem", "demo_", "demo-1", "demodemo", "_demo")
    ]

    assert [refused(answer) for answer in answers] == [(404, 101)] * 7
    assert shared_api.emulator.stats()["calls"] == {}
