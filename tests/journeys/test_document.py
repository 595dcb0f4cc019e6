"""/openapi.json of the whole gateway: cost and contents by key."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from tests.journeys.book_keys import (
    DOCUMENT,
    KEYS,
    described,
    gateways_of_books,
    rows_of,
    running_books,
    told,
)
from tests.journeys.conftest import Api, EmulatorControl, OpenGateway
from tests.journeys.failure import refused


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatorControl]:
    """An emulator with worksheet names that are hard to describe."""
    with running_books(tmp_path_factory.mktemp("document")) as control:
        yield control


@pytest.fixture
def open_books(books: EmulatorControl, tmp_path: Path) -> Iterator[OpenGateway]:
    """Starts gateways on the worksheets with difficult names."""
    with gateways_of_books(books, tmp_path) as start:
        yield start


def test_general_document_needs_no_key(api: Api) -> None:
    """Without a key, `/openapi.json` describes any worksheet and costs no Google call."""
    document = described(api, None)

    validate(document)
    assert [*document["paths"]] == [
        "/v2/sheets/{sheetName}",
        "/v2/sheets/{sheetName}/{rowIndex}",
        "/v2/sheets/{sheetName}/refresh",
        "/v2/sheets/{sheetName}/schema",
        "/v2/sheets",
        "/livez",
        "/readyz",
    ]
    assert api.emulator.calls() == (0, 0)


def test_the_document_of_a_key_lists_its_worksheets(open_books: OpenGateway) -> None:
    """Paths have percent-encoded names in the order of the tabs. A tab without a header
    has no path.
    """
    document = described(open_books())

    validate(document)
    assert rows_of(document) == [
        *(f"/v2/sheets/{name}" for name in ("Cities", "Secret", "Wide", "cities%3F")),
        *(f"/v2/sheets/{name}" for name in ("%7BrowIndex%7D", "~a%20b")),
    ]
    assert len(document["components"]["schemas"]["WideRow"]["properties"]) == 1001


@pytest.mark.parametrize("place", ["header", "query"])
def test_a_key_may_be_in_any_place_that_reads(api: Api, place: str) -> None:
    """`/openapi.json` accepts the key in a header or in the URL."""
    key = api.keys["paid"]
    options: dict[str, Any] = (
        {"headers": {"X-API-Key": key}} if place == "header" else {"params": {"apiKey": key}}
    )

    assert "/v2/sheets/Cities" in described(api, None, **options)["paths"]


def test_the_document_takes_two_reads_a_minute(open_books: OpenGateway) -> None:
    """`/openapi.json` costs two reads a minute for any number of requests and keys."""
    api = open_books()

    for key in (*KEYS, *KEYS):
        described(api, key)

    assert api.emulator.calls() == (2, 0)


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        pytest.param({"key": "wrong"}, (401, 4011), id="wrong key"),
        pytest.param({"key": "revoked"}, (401, 4011), id="revoked key"),
        pytest.param({"key": "expired"}, (401, 4011), id="expired key"),
        pytest.param({"headers": {"API-Key": "other"}}, (400, 4001), id="two keys"),
        pytest.param({"key": "two"}, (400, 101), id="several spreadsheets, none named"),
        pytest.param({"spreadsheet": "third"}, (404, 101), id="not granted"),
        pytest.param({"spreadsheet": "a b"}, (400, 101), id="no id"),
        pytest.param(
            {"key": "pages", "headers": {"Origin": "https://evil.example"}},
            (403, 4031),
            id="origin",
        ),
    ],
)
def test_no_document_for_a_refused_key(
    shared_api: Api, options: dict[str, Any], refusal: tuple[int, int]
) -> None:
    """A refused key gets the usual error instead of the document, and Google is not called."""
    assert refused(told(shared_api, **{"key": "paid", **options})) == refusal
    assert shared_api.emulator.calls() == (0, 0)


@pytest.mark.parametrize(
    ("spreadsheet", "refusal"), [("missing", (404, 101)), ("private", (403, 101))]
)
def test_a_spreadsheet_that_cannot_be_read_is_said_so(
    shared_api: Api, spreadsheet: str, refusal: tuple[int, int]
) -> None:
    """An unreadable spreadsheet gets the usual 404 or 403 instead of the document."""
    assert refused(told(shared_api, "any", spreadsheet=spreadsheet)) == refusal


@pytest.mark.parametrize("skip", [0, 1], ids=["list", "first rows"])
def test_no_document_is_made_of_a_failure(api: Api, skip: int) -> None:
    """If Google fails, the answer is an error; the next request gets the whole document."""
    call = {"call": "spreadsheets.get", "status": 500, "times": 3}
    api.emulator.faults({**call, "skip": skip})

    status, code = refused(told(api, "paid"))
    assert (status, code // 10) in {(502, 502), (503, 503)}
    assert "/v2/sheets/Cities" in described(api, "paid")["paths"]


def test_a_client_that_knows_the_document_is_not_sent_it(api: Api) -> None:
    """A matching `If-None-Match` gets 304 without a body; HEAD has the headers of GET."""
    for key in (None, "paid"):
        full = told(api, key)
        known = told(api, key, headers={"If-None-Match": full.headers["etag"]})
        head = api.send("HEAD", DOCUMENT, key=key, spreadsheet=None)

        assert (known.status_code, known.content) == (304, b"")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == full.headers["content-length"]
        for answer in (full, known, head):
            assert answer.headers["cache-control"] == "private, no-cache"
            assert answer.headers["etag"] == full.headers["etag"]


def test_pages_may_read_the_document(api: Api) -> None:
    """The document has the CORS headers of all answers."""
    for key in (None, "paid"):
        answer = told(api, key, headers={"Origin": "https://app.example.org"})

        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["content-type"] == "application/json; charset=utf-8"


def test_a_key_is_charged_for_the_document(open_gateway: OpenGateway) -> None:
    """A request for the document counts against the rate of the key."""
    api = open_gateway({"plans.paid.requests_per_minute": 60})

    first, second = (told(api, "paid").headers["ratelimit"] for _ in range(2))
    statuses = {told(api, "paid").status_code for _ in range(12)}

    assert (first[:13], second[:13]) == ('"default";r=9', '"default";r=8')
    assert statuses == {200, 429}


def test_a_document_without_a_key_has_no_rate(api: Api) -> None:
    """The answer without a key has no `RateLimit` header."""
    assert "ratelimit" not in told(api, None).headers


def test_the_document_of_a_key_hides_what_is_not_granted(open_books: OpenGateway) -> None:
    """The document of a key has no worksheet or column without a grant, and no cell."""
    api = open_books()
    known = told(api, "all").content
    body = told(api, "some").content

    for hidden in (b"Secret", b"hush", b"Wide", b"rowIndex%7D", b"cities%3F", b"Nowhere"):
        assert hidden not in body
        assert hidden == b"Nowhere" or hidden in known or hidden == b"hush"
    for document in (known, body):
        assert b"Boston" not in document
        assert b"other-header" not in document
        assert b"hush-cell" not in document
    schemas = json.loads(body)["components"]["schemas"]
    assert [*schemas["CitiesRow"]["properties"]] == ["rowIndex", "name", "population"]
    assert [*schemas["CitiesFields"]["properties"]] == ["rowIndex", "population"]


def test_the_document_of_a_key_lists_its_operations(open_books: OpenGateway) -> None:
    """The document has no writes for a read-only key, and no filters for a plan without filters."""
    api = open_books()
    reader, free = described(api, "reader"), described(api, "free")

    assert {*reader["paths"]["/v2/sheets/Cities"]} == {"parameters", "get"}
    assert "CitiesFields" not in reader["components"]["schemas"]
    names = [each.get("name") for each in free["paths"]["/v2/sheets/Cities"]["get"]["parameters"]]
    assert not {"where", "order"} & set(names)
    assert "post" in free["paths"]["/v2/sheets/Cities"]
