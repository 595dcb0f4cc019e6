"""Each method of the TypeScript client, on the real gateway."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest

from tests.clients.middlebox import Middlebox
from tests.clients.typescript.conftest import Connect
from tests.clients.typescript.package import NodeSheet
from tests.journeys.conftest import Api

AUSTIN = {"name": "Austin", "state": "Texas", "country": "USA", "population": 961855}


def test_a_page_is_listed(cities: NodeSheet) -> None:
    """Filter, order, fields, limit, skip and count have their effects together."""
    options = {
        "where": {"population": {"$gte": 1_300_000}},
        "order": ["-population"],
        "keys": ["name", "state"],
        "limit": 2,
        "skip": 1,
        "count": True,
        "noCache": True,
    }

    assert cities.do(["list", options]).value == {
        "rows": [
            {"rowIndex": 3, "fields": {"name": "Los Angeles", "state": "California"}},
            {"rowIndex": 4, "fields": {"name": "Chicago", "state": "Illinois"}},
        ],
        "hasNextPage": True,
        "total": 9,
    }


@pytest.mark.parametrize(("page_size", "requests"), [(50, 3), (130, 2), (1000, 2)])
def test_all_rows_come_page_by_page(
    connect: Connect, middlebox: Middlebox, page_size: int, requests: int
) -> None:
    """Every row comes once, also if the plan allows smaller pages than were asked for."""
    rows = connect("Long").do(["rows", {"pageSize": page_size}]).value

    assert [row["fields"]["number"] for row in rows] == [str(n) for n in range(1, 131)]
    assert len(middlebox.arrived) == requests


def test_all_rows_that_match_come_in_order(cities: NodeSheet) -> None:
    """Pages keep filter, order and fields."""
    options = {"where": {"state": "Texas"}, "order": "-name", "keys": ["name"], "pageSize": 1}
    rows = cities.do(["rows", options]).value

    assert [row["fields"] for row in rows] == [
        {"name": "San Antonio"},
        {"name": "Houston"},
        {"name": "Dallas"},
    ]


def test_a_row_is_created_read_updated_and_deleted(cities: NodeSheet, api: Api) -> None:
    """Each answer that has one row has its tag."""
    ran = cities.do(
        ["create", AUSTIN],
        ["get", 12, {"keys": ["name"], "noCache": True}],
        ["update", 12, {"population": 964_000, "state": None}],
        ["delete", 3],
    )
    created, read, updated, deleted = (each["value"] for each in ran.outcomes)

    assert (created["rowIndex"], created["fields"]["population"]) == (12, "961855")
    assert read == {"rowIndex": 12, "fields": {"name": "Austin"}, "etag": created["etag"]}
    assert updated["fields"] == {"population": "964000", "state": None}
    assert updated["etag"] != created["etag"]
    assert deleted is None
    assert api.emulator.texts("Cities")[10] == ["Austin", "", "USA", "964000"]


@pytest.mark.parametrize(
    "write", [["update", 2, {"population": 2}], ["delete", 2]], ids=["update", "delete"]
)
def test_a_conflict_has_the_current_row(cities: NodeSheet, api: Api, write: Sequence[Any]) -> None:
    """An old tag gets 412 with the row as it is, and its tag; nothing is written."""
    tag = cities.do(["get", 2]).value["etag"]
    ran = cities.do(["update", 2, {"population": 1}, {"ifMatch": tag}], [*write, {"ifMatch": tag}])
    error = ran.error

    assert (error["kind"], error["name"]) == ("SheetsError", "PreconditionFailed")
    assert (error["status"], error["code"], error["outcome"]) == (412, 4120, "not_applied")
    assert error["existing"]["fields"]["population"] == "1"
    assert error["existing"]["etag"] == ran.outcomes[0]["value"]["etag"]
    assert api.emulator.cell("Cities", 2, 4)["value"] == 1


def test_many_rows_are_written(cities: NodeSheet, api: Api) -> None:
    """Lists keep their order; an upsert says which rows are new."""
    ran = cities.do(
        ["create", [{"name": "a"}, {"name": "b"}]],
        ["updateMany", [{"rowIndex": 13, "state": "x"}, {"rowIndex": 12, "state": "y"}]],
        ["upsert", [{"name": "a", "population": 1}, {"name": "c"}], {"on": "name"}],
        ["upsert", {"name": "a", "population": 2}, {"on": ["name"], "ignoreExisting": True}],
    )
    created, updated, upserted, kept = (each["value"] for each in ran.outcomes)

    assert [row["rowIndex"] for row in created] == [12, 13]
    assert [(row["rowIndex"], row["fields"]) for row in updated] == [
        (13, {"state": "x"}),
        (12, {"state": "y"}),
    ]
    assert [(row["rowIndex"], row["created"]) for row in upserted] == [(12, False), (14, True)]
    assert (kept["rowIndex"], kept["created"]) == (12, False)
    assert api.emulator.texts("Cities")[11:] == [["a", "y", "", "1"], ["b", "x"], ["c"]]


def test_rows_are_changed_and_deleted_by_filter(cities: NodeSheet, api: Api) -> None:
    """The guard holds, and the numbers of the rows come back."""
    ran = cities.do(
        ["updateWhere", {"state": "Texas"}, {"country": "TX"}, {"maxAffected": 2}],
        ["updateWhere", {"state": "Texas"}, {"country": "TX"}, {"maxAffected": 3}],
        ["deleteWhere", {"country": "TX"}, {"maxAffected": 2}],
        ["deleteWhere", {"country": "TX"}, {"maxAffected": 3}],
    )
    guarded, changed, kept, deleted = ran.outcomes

    assert (guarded["error"]["code"], kept["error"]["code"]) == (4005, 4005)
    assert changed["value"] == deleted["value"] == {"count": 3, "rowIndexes": [5, 8, 10]}
    assert len(api.emulator.texts("Cities")) == 1 + 7


def test_a_refresh_is_accepted(cities: NodeSheet, middlebox: Middlebox) -> None:
    """The request has no key of a write."""
    cities.do(["refresh"])

    assert middlebox.arrived[0].target == "/v2/sheets/Cities/refresh"
    assert middlebox.sent("Idempotency-Key") == [None]


@pytest.mark.parametrize(
    ("of_client", "of_sheet", "sent"),
    [
        (None, None, None),
        ("typed", None, "typed"),
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
    """Each asks for those of the worksheet, else of the client; a refresh has no rows."""
    options = {"values": of_client} if of_client else {}
    connect(**options, of_sheet={"values": of_sheet} if of_sheet else {}).do(
        ["list"],
        ["list", {"limit": 1}],
        ["rows"],
        ["export"],
        ["get", 2],
        ["create", {"name": "a"}],
        ["create", [{"name": "b"}]],
        ["update", 12, {"state": "x"}],
        ["updateMany", [{"rowIndex": 12, "state": "y"}]],
        ["upsert", {"name": "b"}, {"on": "name"}],
        ["updateWhere", {"name": "a"}, {"state": "z"}],
        ["delete", 12],
        ["deleteWhere", {"name": "b"}],
        ["refresh"],
    )
    asked = [parse_qs(urlsplit(each.target).query).get("values") for each in middlebox.arrived]

    assert asked == [sent and [sent]] * 13 + [None]


@pytest.mark.parametrize(
    ("name", "field", "text"),
    [
        ("My Sheet", "name", "a"),
        ("Real%20Sheet", "name", "escaped"),
        ("a+b", "name", "plus"),
        ("Escaped", "x%2Cy", "1"),
    ],
)
def test_names_are_encoded_once(connect: Connect, name: str, field: str, text: str) -> None:
    """Blanks, percent signs and commas are part of names of worksheets and fields."""
    assert connect(name).do(["get", 2, {"keys": [field]}]).value["fields"] == {field: text}


def test_the_callers_key_makes_two_calls_one_write(cities: NodeSheet, api: Api) -> None:
    """A key of the caller's own survives the call; without it two creates are two rows."""
    key = {"idempotencyKey": str(uuid4())}
    cities.do(["create", AUSTIN, key], ["create", AUSTIN, key], ["create", AUSTIN])

    assert len(api.emulator.texts("Cities")) == 11 + 2


@pytest.mark.parametrize("ending", ["/", "//", ""])
def test_the_base_url_may_end_with_a_slash(
    connect: Connect, middlebox: Middlebox, ending: str
) -> None:
    """No slash is doubled."""
    connect(baseUrl=f"{middlebox.url}{ending}").do(["get", 2])

    assert middlebox.arrived[0].target == "/v2/sheets/Cities/2"
