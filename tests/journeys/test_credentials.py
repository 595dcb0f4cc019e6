"""Keys: every place that a request may carry its own in."""

import pytest

from gateway.access.keys import mint_key
from tests.journeys.conftest import Api
from tests.journeys.failure import anonymous, refused
from tests.journeys.operations import JSON, OPERATIONS, READS, ROW, WRITES
from tests.journeys.raw import send_raw

NOT_KEYS = [
    pytest.param("x", id="short"),
    pytest.param("sgw_", id="prefix only"),
    pytest.param("sgw_" + "a" * 36, id="wrong checksum"),
    pytest.param("Basic dXNlcjpwYXNz", id="another scheme"),
    pytest.param("Bearer Bearer x", id="scheme twice"),
    pytest.param("Bearer a b", id="blank inside"),
    pytest.param("Bearer null", id="null"),
    pytest.param("Bearer <API_KEY>", id="placeholder"),
    pytest.param("Bearer sch\xfcssel", id="not ASCII"),
    pytest.param("Bearer " + "\xff" * 40, id="no text"),
    pytest.param("Bearer " + "k" * 10_000, id="10 KB"),
    pytest.param("Bearer ' OR 1=1 --", id="SQL"),
    pytest.param('{"key": "x"}', id="JSON"),
]

KEY_HEADERS = [
    pytest.param("Authorization", "Bearer {}", id="Authorization: Bearer"),
    pytest.param("Authorization", "bearer {}", id="small bearer"),
    pytest.param("Authorization", "BEARER   {}", id="large bearer, blanks"),
    pytest.param("Authorization", "{}", id="bare key"),
    pytest.param("Authorization", "  {}  ", id="bare key, blanks"),
    pytest.param("API-Key", "{}", id="API-Key"),
    pytest.param("api-key", "  {} ", id="api-key, blanks"),
    pytest.param("X-API-Key", "{}", id="X-API-Key"),
    pytest.param("Authentication", "Bearer {}", id="Authentication: Bearer"),
    pytest.param("Authentication", "{}", id="Authentication, bare key"),
]


@pytest.mark.parametrize(("header", "form"), KEY_HEADERS)
def test_a_key_is_found_in_each_header(shared_api: Api, header: str, form: str) -> None:
    """Clients of this API send their key in four headers, with and without a scheme."""
    sent = [(header, form.format(shared_api.keys["paid"])), JSON]

    answers = [
        send_raw(shared_api, method, "/v2/sheets/Cities/2", headers=sent, body=ROW)
        for method in ("GET", "PUT")
    ]

    assert [answer.status_code for answer in answers] == [200, 200]


@pytest.mark.parametrize(("method", "path"), [*READS, pytest.param("HEAD", "Cities", id="head")])
def test_a_read_takes_its_key_from_the_url(shared_api: Api, method: str, path: str) -> None:
    """On GET and HEAD the query may hold the key and the spreadsheet id."""
    query = {"apiKey": f" {shared_api.keys['paid']} ", "spreadsheetId": " demo "}

    answer = shared_api.send(method, path, key=None, spreadsheet=None, params=query)

    assert answer.status_code == 200


@pytest.mark.parametrize(("method", "path"), WRITES)
def test_a_write_does_not_take_its_key_from_the_url(
    shared_api: Api, method: str, path: str
) -> None:
    """A key in the URL of a write is refused with a code of its own: URLs end up in logs."""
    query = {"apiKey": shared_api.keys["paid"]}

    answer = shared_api.send(method, path, key=None, params=query, json={"name": "x"})

    assert refused(answer) == (401, 4012)
    assert "Authorization: Bearer" in answer.json()["message"]
    assert "bearer" in answer.headers["www-authenticate"].lower()
    assert shared_api.emulator.stats()["calls"] == {}


def test_a_write_with_the_same_key_in_url_and_header_is_served(api: Api) -> None:
    """A key in the URL besides is no reason to refuse the one in the header."""
    answer = api.post("Cities", params={"apiKey": api.keys["paid"]}, json={"name": "x"})

    assert answer.status_code == 201


@pytest.mark.parametrize(
    "sent",
    [[], [("Authorization", "")], [("Authorization", "Bearer")], [("API-Key", "  ")]],
    ids=["nothing", "empty", "scheme only", "blanks"],
)
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_key_is_unauthorized(
    shared_api: Api, method: str, path: str, sent: list[tuple[str, str]]
) -> None:
    """Every operation needs a key, and its absence is told how to mend, without a call."""
    headers = [*sent, ("X-Spreadsheet-Id", "demo"), JSON]

    answer = send_raw(shared_api, method, f"/v2/sheets/{path}", headers=headers, body=ROW)

    assert refused(answer) == (401, 4010)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answer.json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}


def test_a_list_sent_as_a_form_is_told_what_it_lacks(shared_api: Api) -> None:
    """The public documentation's cURL forgets -G: its parameters arrive as a form that creates."""
    before = shared_api.emulator.everything()
    form = {"apiKey": shared_api.keys["paid"], "spreadsheetId": "demo", "limit": "5"}

    answer = shared_api.post("Cities", key=None, spreadsheet=None, data=form)

    assert refused(answer) == (401, 4010)
    assert "-G" in answer.json()["message"]
    assert shared_api.emulator.stats()["calls"] == {}
    assert shared_api.emulator.everything() == before


def test_a_body_holds_no_credentials(shared_api: Api) -> None:
    """A key or a spreadsheet id in a JSON body is not looked at."""
    key = shared_api.keys["paid"]

    answers = [
        shared_api.post("Cities", key=None, json={"name": "x", "apiKey": key}),
        shared_api.post("Cities", key="two", spreadsheet=None, json={"spreadsheetId": "demo"}),
    ]

    assert [refused(answer) for answer in answers] == [(401, 4010), (400, 101)]
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("value", NOT_KEYS)
@pytest.mark.parametrize("header", ["Authorization", "API-Key", "X-API-Key", "Authentication"])
def test_what_is_no_key_is_unauthorized(shared_api: Api, header: str, value: str) -> None:
    """Any text in the place of a key answers 401 and costs no call."""
    sent = [(header, value), ("X-Spreadsheet-Id", "demo"), JSON]

    answers = [
        send_raw(shared_api, "GET", "/v2/sheets/Cities", headers=sent),
        send_raw(shared_api, "POST", "/v2/sheets/Cities", headers=sent, body=ROW),
    ]

    assert [refused(answer) for answer in answers] == [(401, 4011)] * 2
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("value", ["%ff", "%00", "x%0d%0ay", "null", "k" * 7000, "%F0%9F%94%91"])
def test_what_is_no_key_in_the_url_is_unauthorized(shared_api: Api, value: str) -> None:
    """Any text in the place of the key in a URL answers 401."""
    target = f"/v2/sheets/Cities?apiKey={value}&spreadsheetId=demo"

    answer = send_raw(shared_api, "GET", target, headers=[])

    assert refused(answer) == (401, 4011)


@pytest.mark.parametrize("spreadsheet", ["demo", "other", "unknown", None])
def test_bad_keys_answer_alike(shared_api: Api, spreadsheet: str | None) -> None:
    """Mistyped, unknown, revoked and expired keys get the same bytes, whatever they ask for."""
    mistyped = shared_api.keys["paid"][:-1] + "!"
    answers = [
        shared_api.send(method, "Cities/2", key=key, spreadsheet=spreadsheet, json={"name": "x"})
        for key in (mistyped, mint_key(), "revoked", "expired")
        for method in ("GET", "HEAD")
    ]

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert len({anonymous(answer) for answer in answers[::2]}) == 1
    assert refused(answers[0]) == (401, 4011)
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("second", ["{free}", "wrong", "Bearer {free}"])
@pytest.mark.parametrize("header", ["Authorization", "API-Key", "X-API-Key", "Authentication"])
def test_two_different_keys_are_ambiguous(shared_api: Api, header: str, second: str) -> None:
    """Two keys in headers, be one of them wrong, are refused: no proxy can be fooled by them."""
    other = second.format(free=shared_api.keys["free"])
    sent = [("Authorization", f"Bearer {shared_api.keys['paid']}"), (header, other)]

    answers = [
        send_raw(shared_api, method, "/v2/sheets/Cities/2", headers=order, body=ROW)
        for method in ("GET", "PUT")
        for order in (sent, sent[::-1])
    ]

    assert [refused(answer) for answer in answers] == [(400, 4001)] * 4
    assert shared_api.emulator.stats()["calls"] == {}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH"])
def test_a_key_in_the_url_that_differs_is_ambiguous(shared_api: Api, method: str) -> None:
    """A key in the URL is compared with that of the headers also where it does not count."""
    target = f"/v2/sheets/Cities/2?apiKey={shared_api.keys['free']}"

    answer = send_raw(shared_api, method, target, body=ROW)

    assert refused(answer) == (400, 4001)


def test_two_different_keys_in_the_url_are_ambiguous(shared_api: Api) -> None:
    """A parameter that comes twice must say the same twice."""
    paid, free = shared_api.keys["paid"], shared_api.keys["free"]

    answers = [
        send_raw(shared_api, "GET", f"/v2/sheets/Cities/2?apiKey={paid}&apiKey={second}")
        for second in (paid, "", free)
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 400]
    assert refused(answers[2]) == (400, 4001)


def test_the_same_key_everywhere_is_one_key(shared_api: Api) -> None:
    """A client that sends its key in all places is served."""
    key = shared_api.keys["paid"]
    names = ("Authorization", "API-Key", "X-API-Key", "Authentication", "Authorization")
    sent = [(name, key) for name in names] + [("X-Spreadsheet-Id", "demo")]

    answer = send_raw(shared_api, "GET", f"/v2/sheets/Cities/2?apiKey={key}", headers=sent)

    assert answer.status_code == 200
