"""Spreadsheet ids: every place that a request may carry its own in, and what may not be one."""

import pytest

from tests.journeys.conftest import Api
from tests.journeys.failure import refused
from tests.journeys.operations import JSON, OPERATIONS, ROW
from tests.journeys.raw import send_raw

NOT_IDS = [
    *("../../drive/v3/files", "abc/values/X!A1?x=", "abc:batchUpdate?x=", "abc#", "demo/"),
    *("demo.", "de mo", "demo%00", "demo\t1", "demo;", "..", ".", "*", "demo,other"),
    *("d" * 129, "dem\xf6", "\xff\xfe", "https://docs.google.com/spreadsheets/d/demo/edit"),
]


@pytest.mark.parametrize("header", ["X-Spreadsheet-Id", "X-Sheetson-Spreadsheet-Id"])
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_a_spreadsheet_id_is_found_in_each_header(
    shared_api: Api, method: str, header: str
) -> None:
    """Both names of the header select the spreadsheet, blanks around the id are cut."""
    sent = [("Authorization", shared_api.keys["two"]), (header, "  other "), JSON]

    answer = send_raw(
        shared_api, method, "/v2/sheets/Cities/2", headers=sent, body=b'{"name":"Elsewhere"}'
    )

    assert answer.json() == {"rowIndex": 2, "name": "Elsewhere"}


def test_a_write_takes_its_spreadsheet_id_from_the_url(shared_api: Api) -> None:
    """Unlike the key, the id may be in the URL of every operation."""
    answer = shared_api.send(
        "PUT",
        "Cities/2",
        key="two",
        spreadsheet=None,
        params={"spreadsheetId": "other"},
        json={"name": "Elsewhere"},
    )

    assert answer.json() == {"rowIndex": 2, "name": "Elsewhere"}


@pytest.mark.parametrize("key", ["paid", "cities", "read-only"])
@pytest.mark.parametrize(
    "sent",
    [[], [("X-Spreadsheet-Id", "")], [("X-Spreadsheet-Id", "  ")]],
    ids=["none", "empty", "blanks"],
)
def test_the_one_granted_spreadsheet_needs_no_id(
    shared_api: Api, key: str, sent: list[tuple[str, str]]
) -> None:
    """A key of exactly one spreadsheet means that one unless told otherwise."""
    headers = [("Authorization", shared_api.keys[key]), *sent]

    answer = send_raw(shared_api, "GET", "/v2/sheets/Cities/2", headers=headers)

    assert answer.json()["name"] == "New York"


@pytest.mark.parametrize("key", ["two", "any"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_a_key_of_several_spreadsheets_must_name_one(
    shared_api: Api, method: str, path: str, key: str
) -> None:
    """Without an id, and with more than one to choose from, the request is refused."""
    answer = shared_api.send(method, path, key=key, spreadsheet=None, json={"name": "x"})

    assert refused(answer) == (400, 101)
    assert "X-Spreadsheet-Id" in answer.json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("value", NOT_IDS)
@pytest.mark.parametrize("key", ["paid", "any"])
def test_what_is_no_id_never_reaches_google(shared_api: Api, key: str, value: str) -> None:
    """An id is checked before anything else happens with it: it would be a path at Google."""
    authorization = ("Authorization", f"Bearer {shared_api.keys[key]}")

    answers = [
        send_raw(
            shared_api,
            method,
            "/v2/sheets/Cities/2",
            headers=[authorization, (header, value), JSON],
            body=ROW,
        )
        for method in ("GET", "POST")
        for header in ("X-Spreadsheet-Id", "X-Sheetson-Spreadsheet-Id")
    ]

    assert [refused(answer) for answer in answers] == [(400, 101)] * 4
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize(
    "value",
    [
        *("..%2F..%2Fdrive%2Fv3%2Ffiles", "abc%2Fvalues%2FX!A1%3Fx%3D", "abc:batchUpdate%3Fx="),
        *("abc%23", "demo%0d%0aX-Evil:%201", "demo%00", "de%0Amo", "%ff", "%E2%80%8Bdemo", "a b"),
    ],
)
def test_what_is_no_id_in_the_url_never_reaches_google(shared_api: Api, value: str) -> None:
    """The query parameter is checked like the header, line breaks included."""
    sent = [("Authorization", shared_api.keys["any"])]
    target = f"/v2/sheets/Cities/2?spreadsheetId={value.replace(' ', '+')}"

    answer = send_raw(shared_api, "GET", target, headers=sent)

    assert refused(answer) == (400, 101)
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("X-Spreadsheet-Id", "demo"), ("X-Spreadsheet-Id", "other")),
        (("X-Spreadsheet-Id", "demo"), ("X-Sheetson-Spreadsheet-Id", "other")),
        (("X-Spreadsheet-Id", "../x"), ("X-Sheetson-Spreadsheet-Id", "demo")),
    ],
    ids=["twice", "two names", "one is no id"],
)
def test_two_different_spreadsheets_are_ambiguous(
    shared_api: Api, first: tuple[str, str], second: tuple[str, str]
) -> None:
    """Two ids in one request are refused, whether the key may use them or not."""
    key = ("Authorization", shared_api.keys["two"])

    answers = [
        send_raw(shared_api, method, "/v2/sheets/Cities/2", headers=[key, *order], body=ROW)
        for method in ("GET", "PUT")
        for order in ((first, second), (second, first))
    ]

    assert [refused(answer) for answer in answers] == [(400, 4001)] * 4
    assert shared_api.emulator.stats()["calls"] == {}


def test_a_spreadsheet_in_the_url_must_be_that_of_the_header(shared_api: Api) -> None:
    """The id may come in several places if all of them say the same."""
    answers = [
        shared_api.get("Cities/2", key="two", params={"spreadsheetId": spreadsheet})
        for spreadsheet in ("demo", "", "other")
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert refused(answers[2]) == (400, 4001)
