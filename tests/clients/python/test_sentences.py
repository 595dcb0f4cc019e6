"""The sentences that a caller reads after a usual mistake: what was found, and what to do."""

import re
from collections import UserString
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from gateway.server.sockets import bind
from sheets_gateway_client import ConnectionFailed, RetryOptions, Row, SheetsError
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.conftest import Connect
from tests.journeys.conftest import Api

ONCE = RetryOptions(tries=1)
CIRCULAR: list[object] = []
CIRCULAR.append(CIRCULAR)
SPOILT: Mapping[str, Callable[[str], str]] = {
    "slash": lambda url: f"{url}/",
    "slashes": lambda url: f"{url}//",
    "blanks": lambda url: f" {url}\n",
    "capitals": lambda url: url.replace("http", "HTTP"),
}


@pytest.mark.parametrize("spoilt", SPOILT.values(), ids=SPOILT)
def test_a_base_url_may_be_pasted_carelessly(
    connect: Connect, middlebox: Middlebox, spoilt: Callable[[str], str]
) -> None:
    """Blanks around it and slashes at its end have no meaning."""
    assert connect(base_url=spoilt(middlebox.url)).sheet("Cities").get(2)["name"] == "New York"


@pytest.mark.parametrize("spoilt", [" {}", "{}\n", "\t{}\r\n"], ids=["blank", "line", "both"])
def test_a_key_may_be_pasted_carelessly(connect: Connect, api: Api, spoilt: str) -> None:
    """Blanks and line breaks around it are left out."""
    sheets = connect(api_key=spoilt.format(api.keys["paid"]))

    assert sheets.sheet("Cities").get(2)["name"] == "New York"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        pytest.param({"api_key": None}, "The API key is missing: pass the gateway's", id="no key"),
        pytest.param({"api_key": " \n"}, "The API key is missing: pass the gateway's", id="blank"),
        pytest.param({"api_key": "Bearer sgw_x"}, "It has no blanks and no Bearer.", id="Bearer"),
        pytest.param({"base_url": None}, "The base URL is missing", id="no URL"),
        pytest.param({"base_url": ""}, "The base URL is missing", id="empty URL"),
        *(
            pytest.param({"base_url": url}, f"The base URL '{url}' is not http:// or", id=url)
            for url in (
                "localhost:8000",
                "127.0.0.1",
                "/v2",
                "ftp://localhost",
                "http://",
                "http:///x",
                "http://local host",
                "http://localhost:99999",
                "http://localhost:port",
            )
        ),
    ],
)
def test_unusable_settings_are_named(
    connect: Connect, options: Mapping[str, Any], sentence: str
) -> None:
    """When the client is made, before any call; the key is not shown."""
    with pytest.raises(ValueError, match=re.escape(sentence)) as raised:
        connect(**options)

    assert "sgw_x" not in str(raised.value)


@pytest.mark.parametrize("path", ["/v2", "/v2/", "/v2/sheets", "/api"])
def test_a_base_url_with_too_much_is_named(
    connect: Connect, middlebox: Middlebox, path: str
) -> None:
    """The error has the URL that was requested, and the cause."""
    with pytest.raises(SheetsError) as raised:
        connect(base_url=f"{middlebox.url}{path}").sheet("Cities").list(where={"name": "x"})
    url = f"{middlebox.url}{path.rstrip('/')}/v2/sheets/Cities"

    assert raised.value.code == 4040
    assert str(raised.value).endswith(
        f"The request went to {url}: correct the base URL, which ends before /v2."
    )


@pytest.mark.parametrize("is_write", [False, True], ids=["read", "write"])
def test_a_gateway_that_is_down_is_named(connect: Connect, is_write: bool) -> None:
    """URL and cause; a query, which may hold values of cells, is left out."""
    with bind("127.0.0.1", 0) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    sheet = connect(base_url=url, retry=ONCE).sheet("Cities")
    with pytest.raises(ConnectionFailed) as raised:
        sheet.create({"name": "x"}) if is_write else sheet.list(where={"name": "x"})
    method = "POST" if is_write else "GET"

    assert str(raised.value).startswith(f"No answer to {method} {url}/v2/sheets/Cities at try 1: ")
    assert re.search("refused|connection attempts failed", str(raised.value))


def test_a_page_of_a_proxy_is_named(connect: Connect, middlebox: Middlebox) -> None:
    """URL, status and beginning of an answer that is not the gateway's."""
    middlebox.fail(Fault(status=200, text="<html>\n<title>Sign in</title>"))
    with pytest.raises(SheetsError) as raised:
        connect(retry=ONCE).sheet("Cities").get(2)

    assert raised.value.message == (
        f"The answer of {middlebox.url}/v2/sheets/Cities/2 is not the gateway's: status 200. "
        "It begins: '<html> <title>Sign in</title>'"
    )


def test_none_empties_a_cell(cities: Any) -> None:
    """In a create and an update, as null does in the API; in a filter it finds empty cells."""
    created = cities.create({"name": "Austin", "state": None})
    changed = cities.update(created.row_index, {"name": None, "country": "USA"})
    found = cities.list(where={"name": None, "country": "USA"})

    assert (created["state"], changed["name"]) == (None, None)
    assert [row.row_index for row in found] == [created.row_index]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        pytest.param(date(2026, 1, 2), "a date is not a value of a cell. Pass a text", id="date"),
        pytest.param(
            datetime(2026, 1, 2, tzinfo=UTC), "a datetime is not a value of a cell.", id="datetime"
        ),
        pytest.param(time(12), "a time is not a value of a cell. Pass a text", id="time"),
        pytest.param(
            Decimal("1.10"), "a Decimal is not a value of a cell. Pass float", id="Decimal"
        ),
        pytest.param(b"x", "a bytes is not a value of a cell. Pass a str, int", id="bytes"),
        pytest.param({1}, "a set is not a value of a cell. Pass a str, int", id="set"),
        pytest.param(float("nan"), "nan is not a value of a cell. None empties", id="NaN"),
        pytest.param(float("-inf"), "-inf is not a value of a cell.", id="infinity"),
        pytest.param(
            UserString("x"), "a UserString is not a value of a cell. Pass str(", id="UserString"
        ),
        pytest.param(CIRCULAR, "the value contains itself, or has over", id="circular"),
    ],
)
@pytest.mark.parametrize(
    "act",
    [
        lambda sheet, value: sheet.create({"name": "x", "population": value}),
        lambda sheet, value: sheet.create([{"name": "x"}, {"population": value}]),
        lambda sheet, value: sheet.update(2, {"population": value}),
        lambda sheet, value: sheet.list(where={"population": {"$gte": value}}),
        lambda sheet, value: sheet.delete_where({"$or": [{"population": {"$in": [value]}}]}),
    ],
    ids=["create", "create many", "update", "list", "delete where"],
)
def test_a_value_that_no_cell_takes_is_named(
    cities: Any,
    middlebox: Middlebox,
    act: Callable[[Any, object], object],
    value: Any,
    sentence: str,
) -> None:
    """With its field and what to pass instead; nothing is sent."""
    with pytest.raises(ValueError, match=re.escape(f"'population': {sentence}")):
        act(cities, value)

    assert middlebox.arrived == []


@pytest.mark.parametrize("name", [("a", "b"), None, True, b"a"], ids=str)
def test_what_names_no_field_is_named(cities: Any, middlebox: Middlebox, name: Any) -> None:
    """In a row and in a filter; as JSON it would be an error, or another name."""
    for act in (cities.create, cities.delete_where):
        with pytest.raises(ValueError, match=re.escape(f"{name!r} is not the name of a field")):
            act({name: "x"})

    assert middlebox.arrived == []


def test_the_advice_for_dates_is_right(cities: Any) -> None:
    """A date as a text is stored as that text, and found by a filter with dates as texts."""
    day = date(2026, 1, 2)
    created = cities.create({"name": "x", "country": day.isoformat()})
    found = cities.list(where={"country": {"$gte": day.isoformat(), "$lt": "2026-01-03"}})

    assert created["country"] == "2026-01-02"
    assert [row.row_index for row in found] == [created.row_index]


def test_the_advice_for_dates_is_right_in_columns_of_dates(connect: Connect, api: Api) -> None:
    """A typed write stores the same text as a date."""
    orders = connect(values="typed").sheet("Orders")
    changed = orders.update(2, {"due": date(2026, 1, 2).isoformat()})

    assert changed["due"] == "2026-01-02"
    assert api.emulator.cell("Orders", 2, 3)["value"] == 46024


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda sheet: sheet.create(None), "not NoneType"),
        (lambda sheet: sheet.create("x"), "not str"),
        (lambda sheet: sheet.create([{"name": "x"}, None]), "not NoneType"),
        (lambda sheet: sheet.create([["name", "x"]]), "not list"),
        (lambda sheet: sheet.update(2, None), "not NoneType"),
        (lambda sheet: sheet.update_many(None), "not NoneType"),
        (lambda sheet: sheet.upsert(None, on="name"), "not NoneType"),
        (lambda sheet: sheet.update_where({"name": "x"}, None), "not NoneType"),
        (lambda sheet: sheet.update_where(None, {"name": "x"}), "A filter is a dict"),
        (lambda sheet: sheet.delete_where(None), "A filter is a dict"),
        (lambda sheet: sheet.delete_where("name = 'x'"), "A filter is a dict"),
    ],
)
def test_what_is_no_row_or_filter_is_named(
    cities: Any, middlebox: Middlebox, act: Callable[[Any], object], sentence: str
) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=sentence):
        act(cities)

    assert middlebox.arrived == []


@pytest.mark.parametrize("name", ["", None, 7], ids=["empty", "None", "number"])
def test_what_names_no_worksheet_is_named(
    connect: Connect, middlebox: Middlebox, name: Any
) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=f"{name!r} cannot be the name of a worksheet"):
        connect().sheet(name).list()

    assert middlebox.arrived == []


def test_an_unknown_field_of_a_row_is_named() -> None:
    """With the fields that the row has."""
    row = Row(row_index=7, fields={"name": "Austin", "state": None})
    with pytest.raises(KeyError, match="Row 7 has no field 'nmae'; its fields are 'name', 'state'"):
        row["nmae"]

    assert row["state"] is None


def test_an_unknown_field_of_a_write_is_named(cities: Any) -> None:
    """By the gateway, with the fields of the worksheet."""
    with pytest.raises(SheetsError, match=r'"nmae".*fields are "name"'):
        cities.update(2, {"nmae": "x"})
