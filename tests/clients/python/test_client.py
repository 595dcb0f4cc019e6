"""Each method of both clients, on the real gateway."""

from inspect import signature
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from sheets_gateway_client import (
    Affected,
    AsyncSheet,
    AsyncSheets,
    Row,
    Sheet,
    Sheets,
    SheetsError,
)
from tests.clients.middlebox import Middlebox
from tests.clients.python.conftest import Connect
from tests.journeys.conftest import Api

AUSTIN = {"name": "Austin", "state": "Texas", "country": "USA", "population": 961855}


def names(rows: Any) -> list[str | None]:
    return [row["name"] for row in rows]


def test_a_page_is_listed(cities: Any) -> None:
    """Filter, order, fields, limit, skip and count have their effects together."""
    page = cities.list(
        where={"population": {"$gte": 1_300_000}},
        order=["-population"],
        keys=["name", "state"],
        limit=2,
        skip=1,
        count=True,
        no_cache=True,
    )

    assert page.rows == [
        Row(row_index=3, fields={"name": "Los Angeles", "state": "California"}),
        Row(row_index=4, fields={"name": "Chicago", "state": "Illinois"}),
    ]
    assert (page.has_next_page, page.total, len(page)) == (True, 9, 2)


def test_a_page_without_options_has_all_fields(cities: Any) -> None:
    """The gateway's defaults apply, and nothing is counted."""
    page = cities.list()

    assert page.rows[0].fields == {
        "name": "New York",
        "state": "New York",
        "country": "USA",
        "population": "8804190",
    }
    assert (page.has_next_page, page.total, len(page)) == (False, None, 10)


@pytest.mark.parametrize("page_size", [50, 130, 1000])
def test_all_rows_come_page_by_page(connect: Connect, middlebox: Middlebox, page_size: int) -> None:
    """Every row comes once, also if the plan allows smaller pages than were asked for."""
    rows = connect().sheet("Long").rows(page_size=page_size)

    assert [row["number"] for row in rows] == [str(number) for number in range(1, 131)]
    assert len(middlebox.arrived) == (3 if page_size == 50 else 2)


def test_all_rows_that_match_come_in_order(cities: Any) -> None:
    """Pages keep filter, order and fields."""
    rows = list(cities.rows(where={"state": "Texas"}, order="-name", keys="name", page_size=1))

    assert [row.fields for row in rows] == [
        {"name": "San Antonio"},
        {"name": "Houston"},
        {"name": "Dallas"},
    ]


def test_rows_created_meanwhile_come_too(connect: Connect) -> None:
    """A row that is appended between two pages is on the last one."""
    sheet = connect().sheet("Long")
    seen: list[str | None] = []
    skip, has_more = 0, True
    while has_more:
        if skip == 100:
            sheet.create({"number": 131})
        page = sheet.list(limit=50, skip=skip)
        seen += [row["number"] for row in page]
        skip, has_more = skip + len(page), page.has_next_page

    assert seen == [str(number) for number in range(1, 132)]


def test_a_row_is_read(cities: Any) -> None:
    """Only the fields asked for come, with the tag of the whole row."""
    whole = cities.get(2)
    part = cities.get(2, keys=["name"], no_cache=True)

    assert (part.row_index, part.fields) == (2, {"name": "New York"})
    assert part.etag == whole.etag is not None


def test_a_row_is_created_and_updated_on_its_tag(cities: Any, api: Api) -> None:
    """The tag of a create serves the update, and that of the update the next one."""
    created = cities.create(AUSTIN)
    updated = cities.update(created.row_index, {"population": 964_000}, if_match=created.etag)
    again = cities.update(created.row_index, {"state": None}, if_match=updated.etag)

    assert (created.row_index, created["population"]) == (12, "961855")
    assert (updated.fields, again.fields) == ({"population": "964000"}, {"state": None})
    assert api.emulator.texts("Cities")[11] == ["Austin", "", "USA", "964000"]


def test_a_conflict_has_the_current_row(cities: Any, api: Api) -> None:
    """An old tag gets 412 with the row as it is, and its tag; nothing is written."""
    old = cities.get(2)
    current = cities.update(2, {"population": 1}, if_match=old.etag)
    with pytest.raises(SheetsError) as raised:
        cities.update(2, {"population": 2}, if_match=old.etag)
    error = raised.value

    assert (error.status, error.code, error.outcome) == (412, 4120, "not_applied")
    assert error.existing is not None
    assert error.existing["population"] == "1"
    assert error.existing.etag == current.etag
    assert api.emulator.cell("Cities", 2, 4)["value"] == 1


def test_many_rows_are_created_and_updated(cities: Any, api: Api) -> None:
    """Lists keep their order, and rows of a tuple count too."""
    created = cities.create(({"name": "a"}, {"name": "b"}))
    updated = cities.update_many([{"rowIndex": 13, "state": "x"}, {"rowIndex": 12, "state": "y"}])

    assert [(row.row_index, row["name"], row.etag) for row in created] == [
        (12, "a", None),
        (13, "b", None),
    ]
    assert [(row.row_index, row["state"]) for row in updated] == [(13, "x"), (12, "y")]
    assert api.emulator.texts("Cities")[11:] == [["a", "y"], ["b", "x"]]


def test_rows_are_upserted(cities: Any, api: Api) -> None:
    """Rows with the key are updated, the others created; one row gives one back."""
    several = cities.upsert(
        [{"name": "Dallas", "population": 1}, {"name": "Waco", "population": 2}], on="name"
    )
    kept = cities.upsert(
        {"name": "Dallas", "state": "Texas", "population": 3},
        on=["name", "state"],
        ignore_existing=True,
    )

    assert [(row.row_index, row.created) for row in several] == [(10, False), (12, True)]
    assert (kept.row_index, kept.created) == (10, False)
    assert api.emulator.cell("Cities", 10, 4)["value"] == 1


def test_rows_are_changed_and_deleted_by_filter(cities: Any, api: Api) -> None:
    """The numbers of the rows come back, and the sheet has the effect."""
    changed = cities.update_where({"state": "Texas"}, {"country": "TX"}, max_affected=3)
    deleted = cities.delete_where({"country": "TX"}, max_affected=3)

    assert changed == deleted == Affected(count=3, row_indexes=[5, 8, 10])
    assert len(api.emulator.texts("Cities")) == 1 + 7


@pytest.mark.parametrize("method", ["update_where", "delete_where"])
def test_a_filter_that_matches_too_much_writes_nothing(cities: Any, api: Api, method: str) -> None:
    """`max_affected` is a guard."""
    before = api.emulator.texts("Cities")
    arguments = [{"state": "Texas"}, *([{"country": "x"}] if method == "update_where" else [])]
    with pytest.raises(SheetsError) as raised:
        getattr(cities, method)(*arguments, max_affected=2)

    assert (raised.value.code, raised.value.outcome) == (4005, "not_applied")
    assert api.emulator.texts("Cities") == before


def test_a_row_is_deleted_on_its_tag(cities: Any, api: Api) -> None:
    """The row goes; then its number is another row's, which the tag protects."""
    tag = cities.get(3).etag
    deleted = cities.delete(3, if_match=tag)
    with pytest.raises(SheetsError) as raised:
        cities.delete(3, if_match=tag)

    assert deleted is None
    assert raised.value.existing is not None
    assert raised.value.existing["name"] == "Chicago"
    assert [line[0] for line in api.emulator.texts("Cities")[1:3]] == ["New York", "Chicago"]


def test_a_refresh_is_accepted(cities: Any, middlebox: Middlebox) -> None:
    """The request has no key of a write."""
    cities.refresh()

    assert middlebox.arrived[0].target == "/v2/sheets/Cities/refresh"
    assert middlebox.sent("Idempotency-Key") == [None]


EVERY_CALL = (
    lambda sheet: sheet.list(),
    lambda sheet: sheet.get(2),
    lambda sheet: sheet.create({"name": "a"}),
    lambda sheet: sheet.create([{"name": "b"}]),
    lambda sheet: sheet.update(12, {"state": "x"}),
    lambda sheet: sheet.update_many([{"rowIndex": 12, "state": "y"}]),
    lambda sheet: sheet.upsert({"name": "b"}, on="name"),
    lambda sheet: sheet.update_where({"name": "a"}, {"state": "z"}),
    lambda sheet: sheet.delete(12),
    lambda sheet: sheet.delete_where({"name": "b"}),
    lambda sheet: list(sheet.rows()),
    lambda sheet: sheet.export(),
    lambda sheet: list(sheet.export_rows()),
    lambda sheet: sheet.to_dataframe(),
)


@pytest.mark.parametrize(
    ("of_client", "of_sheet", "sent"),
    [
        (None, None, None),
        ("typed", None, "typed"),
        ("displayed", None, "displayed"),
        ("displayed", "typed", "typed"),
        ("typed", "displayed", "displayed"),
    ],
)
def test_reads_and_writes_ask_for_values(
    connect: Connect,
    middlebox: Middlebox,
    of_client: str | None,
    of_sheet: str | None,
    sent: str | None,
) -> None:
    """Each asks for those of the worksheet, else of the client; a frame is always typed."""
    sheet = connect(values=of_client).sheet("Cities", values=of_sheet)
    for call in EVERY_CALL:
        call(sheet)
    asked = [parse_qs(urlsplit(each.target).query).get("values") for each in middlebox.arrived]

    assert asked == [sent and [sent]] * 13 + [["typed"]]


def test_typed_rows_are_read_and_written(connect: Connect, api: Api) -> None:
    """Numbers, booleans and dates come as such, and a date is stored as a date."""
    client = connect(values="typed")
    orders = client.sheet("Orders")
    first = orders.get(2)
    changed = orders.update(2, {"price": first["price"] * 2, "due": "2024-01-03"})
    created = orders.create({"item": "Nib", "price": 0.5, "due": "2024-04-01"})
    tasks = client.sheet("Tasks").list()

    assert first.fields == {
        "item": "Pen",
        "price": 1250.5,
        "due": "2024-01-02",
        "total": 2501,
        "note": None,
    }
    assert changed.fields == {"price": 2501, "due": "2024-01-03"}
    assert created.fields == {"item": "Nib", "price": 0.5, "due": "2024-04-01"}
    assert [row["done"] for row in tasks] == [True, False, None]
    assert [api.emulator.cell("Orders", row, 3)["value"] for row in (2, 4)] == [45294, 45383]
    assert client.sheet("Orders", values="displayed").get(4)["price"] == "$0.50"


def test_a_typed_row_is_updated_on_its_tag(connect: Connect) -> None:
    """A change that the display hides counts, and the conflict shows the typed row."""
    orders = connect(values="typed").sheet("Orders")
    old = orders.get(2)
    orders.update(2, {"price": 1250.501})
    with pytest.raises(SheetsError) as raised:
        orders.update(2, {"price": 1}, if_match=old.etag)

    assert (raised.value.code, raised.value.outcome) == (4120, "not_applied")
    assert raised.value.existing is not None
    assert raised.value.existing["price"] == 1250.501


def test_a_refresh_asks_for_no_values(connect: Connect, middlebox: Middlebox) -> None:
    """Its answer has no rows."""
    connect(values="typed").sheet("Cities").refresh()

    assert middlebox.arrived[0].target == "/v2/sheets/Cities/refresh"


def test_names_are_encoded_once(connect: Connect) -> None:
    """Blanks, percent signs and commas are part of names of worksheets and fields."""
    client = connect()

    assert client.sheet("My Sheet").get(2)["name"] == "a"
    assert client.sheet("Real%20Sheet").get(2)["name"] == "escaped"
    assert client.sheet("a+b").get(2)["name"] == "plus"
    assert client.sheet("Escaped").get(2, keys=["x%2Cy"]).fields == {"x%2Cy": "1"}


def test_the_callers_key_makes_two_calls_one_write(cities: Any, api: Api) -> None:
    """A key of the caller's own survives the call, so a program may repeat it."""
    key = str(uuid4())
    first = cities.create(AUSTIN, idempotency_key=key)
    second = cities.create(AUSTIN, idempotency_key=key)

    assert first == second
    assert len(api.emulator.texts("Cities")) == 12


def test_calls_have_keys_of_their_own(cities: Any, api: Api) -> None:
    """Two equal creates are two rows."""
    cities.create({"name": "x"})
    cities.create({"name": "x"})

    assert api.emulator.texts("Cities")[11:] == [["x"], ["x"]]


def test_the_base_url_may_end_with_a_slash(connect: Connect, middlebox: Middlebox) -> None:
    """No slash is doubled."""
    connect(base_url=f"{middlebox.url}/").sheet("Cities").get(2)

    assert middlebox.arrived[0].target == "/v2/sheets/Cities/2"


def test_a_block_closes_the_client(api: Api) -> None:
    """`with` gives the client, and closes its connections."""
    with Sheets(api.url, api.keys["paid"]) as sheets:
        row = sheets.sheet("Cities").get(2)

    assert row["name"] == "New York"
    with pytest.raises(RuntimeError, match="closed"):
        sheets.sheet("Cities").get(2)


def test_both_clients_take_the_same_arguments() -> None:
    """A program changes only the class and adds `await`."""
    pairs = [(Sheets, AsyncSheets), (Sheet, AsyncSheet)]
    names = [(pair, name) for pair in pairs for name in vars(pair[0]) if name[0] != "_"]
    found = [
        [list(signature(getattr(kind, name)).parameters.values()) for kind in pair]
        for pair, name in names
    ]

    assert len(found) == 3 + 15
    assert [plain for plain, other in found if plain != other] == []


async def test_an_async_block_closes_the_client(api: Api) -> None:
    """The same with `async with`, in the caller's own loop."""
    async with AsyncSheets(api.url, api.keys["paid"]) as sheets:
        rows = [row async for row in sheets.sheet("Cities").rows(page_size=4)]

    assert len(rows) == 10
    with pytest.raises(RuntimeError, match="closed"):
        await sheets.sheet("Cities").get(2)
