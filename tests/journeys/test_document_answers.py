"""Answers of the whole gateway conform to its document."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.journeys.book_keys import described, gateways_of_books, running_books
from tests.journeys.conftest import Api, EmulatorControl, OpenGateway
from tests.web.openapi.conformance import problems_of

Asked = tuple[str, str, Mapping[str, Any]]

ASKED: Sequence[Asked] = [
    ("GET", "Cities", {}),
    ("GET", "Cities", {"params": {"count": "true", "keys": "name", "limit": "1"}}),
    ("GET", "Cities", {"params": {"where": '{"name":"Boston"}', "order": "-population"}}),
    ("GET", "Cities", {"params": {"where": "{"}}),
    ("GET", "Cities", {"params": {"order": "nobody"}}),
    ("GET", "Cities", {"headers": {"If-None-Match": "*"}}),
    ("GET", "Cities", {"key": None}),
    ("GET", "Cities", {"key": "wrong"}),
    ("GET", "Cities", {"headers": {"API-Key": "another"}}),
    ("GET", "Cities", {"spreadsheet": "missing"}),
    ("GET", "Cities", {"spreadsheet": "."}),
    ("GET", "Cities/2", {}),
    ("GET", "Cities/2", {"params": {"keys": "state"}}),
    ("GET", "Cities/99", {}),
    ("GET", "Cities/x", {}),
    ("GET", "%7BrowIndex%7D", {}),
    ("GET", "%7BrowIndex%7D/2", {}),
    ("GET", "~a%20b", {}),
    ("GET", "cities%3F", {}),
    ("GET", "Wide", {}),
    ("POST", "Cities", {"json": {"name": "Denver", "population": 715522, "state": None}}),
    ("POST", "Cities", {"json": [{"name": "Austin"}, {"population": 1}]}),
    ("POST", "Cities", {"data": {"name": "Dallas"}}),
    ("POST", "Cities", {"json": {"nobody": "x"}}),
    ("POST", "Cities", {"json": {}}),
    ("POST", "Cities", {"content": b"<x/>", "headers": {"Content-Type": "text/xml"}}),
    ("POST", "Cities", {"json": {"name": "x"}, "headers": {"Idempotency-Key": "same"}}),
    ("POST", "Cities", {"json": {"name": "x"}, "headers": {"Idempotency-Key": "same"}}),
    ("POST", "Cities", {"json": {"name": "y"}, "headers": {"Idempotency-Key": "same"}}),
    ("POST", "Cities", {"json": {"name": "x"}, "headers": {"Idempotency-Key": "\x7f"}}),
    ("POST", "Cities/2", {"json": {"name": "Boston", "state": "MA"}}),
    ("PUT", "Cities/2", {"json": {"rowIndex": 2, "state": ""}}),
    ("PATCH", "Cities/2", {"json": {"state": True}}),
    ("PATCH", "Cities/2", {"json": {"name": "x"}, "headers": {"If-Match": '"old"'}}),
    ("PATCH", "Cities/99", {"json": {"name": "x"}}),
    ("PATCH", "Cities/2", {"json": {"name": "x"}, "key": None, "params": {"apiKey": "all"}}),
    ("PATCH", "Cities", {"json": [{"name": "x"}]}),
    ("PATCH", "Cities", {"json": [{"rowIndex": 1, "name": "x"}]}),
    ("PATCH", "Cities", {"json": {"name": "x"}}),
    ("PATCH", "Cities", {"json": {"name": "x"}, "params": {"where": "{}"}}),
    ("POST", "Cities", {"json": {"name": "x"}, "params": {"on_conflict": "state"}}),
]


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


def conversation(api: Api, key: str, book: str) -> Iterator[tuple[Asked, httpx2.Response]]:
    """Requests and answers; a key in the URL is replaced by its name."""
    for method, path, options in ASKED:
        sent = {"key": key, "spreadsheet": book, **options}
        if "apiKey" in sent.get("params", {}):
            sent["params"] = {"apiKey": api.keys[key]}
        yield (method, path, options), api.send(method, path, **sent)


@pytest.mark.parametrize("empty_cell", ["null", "", "omit"])
@pytest.mark.parametrize("is_general", [True, False], ids=["general", "key"])
@pytest.mark.parametrize("values", ["displayed", "typed"])
def test_answers_are_as_the_document_says(
    open_books: OpenGateway, empty_cell: str, is_general: bool, values: str
) -> None:
    """Every success and error of each operation conforms to the document, for all cell settings."""
    settings = {"api.empty_cell": empty_cell, "api.values": values, "cache.rows_ttl_seconds": 60}
    api = open_books(settings)
    document = described(api, None if is_general else "all")

    statuses = set()
    for (method, path, options), answer in conversation(api, "all", "book"):
        statuses.add(answer.status_code)
        problems = problems_of(document, method, f"/v2/sheets/{path}", answer)
        assert [*problems] == [], (method, path, options, answer.text)
    assert statuses == {200, 201, 304, 400, 401, 404, 405, 412, 415, 422}


def test_fields_that_are_ignored_are_reported_in_a_header(open_books: OpenGateway) -> None:
    """`X-Ignored-Fields` is in the document if the operator lets the API ignore unknown fields."""
    api = open_books({"api.unknown_fields": "ignore"})
    document = described(api)
    sent = {"name": "x", "nobody": "y"}

    answer = api.post("Cities", key="all", spreadsheet="book", json=sent)

    assert answer.headers["x-ignored-fields"] == '"nobody"'
    assert [*problems_of(document, "POST", "/v2/sheets/Cities", answer)] == []
    told_of = document["paths"]["/v2/sheets/Cities"]["post"]["responses"]["201"]["headers"]
    assert "X-Ignored-Fields" in told_of


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        pytest.param(("schemas", "Cell"), {"type": "number"}, id="another type of cell"),
        pytest.param(
            ("schemas", "CitiesRow"),
            {"type": "object", "properties": {"nom": {}}, "additionalProperties": False},
            id="another name",
        ),
        pytest.param(
            ("schemas", "CitiesRow"), {"required": ["rowIndex", "zip"]}, id="a field that is none"
        ),
        pytest.param(("schemas", "Error"), {"required": ["title"]}, id="another error"),
        pytest.param(
            ("headers", "X-Request-Id"),
            {"schema": {"type": "string", "pattern": "^$"}},
            id="another header",
        ),
        pytest.param(
            ("responses", "list400"), {"description": "x", "content": {"text/plain": {}}}, id="type"
        ),
    ],
)
def test_a_wrong_document_is_found(
    open_books: OpenGateway, place: tuple[str, str], wrong: dict[str, Any]
) -> None:
    """A fault planted in the document is reported."""
    api = open_books({"cache.rows_ttl_seconds": 60})
    document = described(api)
    kind, name = place
    document["components"][kind][name] = wrong

    assert [
        problem
        for (method, path, _), answer in conversation(api, "all", "book")
        for problem in problems_of(document, method, f"/v2/sheets/{path}", answer)
    ]


def test_health_is_as_the_document_says(api: Api) -> None:
    """Health answers conform to the general document."""
    document = described(api, None)

    for path in ("/livez", "/readyz"):
        answer = api.get(path, key=None, spreadsheet=None)
        assert [*problems_of(document, "GET", path, answer)] == []


def test_errors_may_come_as_problems(api: Api) -> None:
    """Errors in the format of RFC 9457 conform to the document."""
    document = described(api, None)
    answer = api.get("Nowhere", headers={"Accept": "application/problem+json"})

    assert answer.headers["content-type"] == "application/problem+json; charset=utf-8"
    assert [*problems_of(document, "GET", "/v2/sheets/Nowhere", answer)] == []
