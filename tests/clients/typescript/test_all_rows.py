"""All rows of a worksheet, by cursor, by position, and as an export."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.test_all_rows import JSON, LOST, NUMBERS, old_page
from tests.clients.typescript.conftest import Connect
from tests.clients.typescript.package import NodeSheet


@pytest.fixture
def long(connect: Connect) -> NodeSheet:
    """The worksheet `Long`, whose rows 2 to 131 are the numbers from 1."""
    return connect("Long")


def asked(middlebox: Middlebox) -> Sequence[Mapping[str, list[str]]]:
    """The parameters of all requests; empty ones too."""
    queries = (urlsplit(each.target).query for each in middlebox.arrived)
    return [parse_qs(query, keep_blank_values=True) for query in queries]


def numbers(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["fields"]["number"] for row in rows]


def test_rows_go_on_with_the_cursor_of_each_page(long: NodeSheet, middlebox: Middlebox) -> None:
    """The first page has an empty one; after the page without one no request follows."""
    rows = long.do(["rows", {"order": "number", "pageSize": 50}]).value
    first, *others = asked(middlebox)

    assert numbers(rows) == NUMBERS
    assert (first["cursor"], first["order"], "skip" in first) == ([""], ["number"], False)
    assert len(others) == 2
    assert len({*first["cursor"], *(each["cursor"][0] for each in others)}) == 3


def test_a_page_has_the_cursor_of_the_next(long: NodeSheet) -> None:
    """The last page has null, and a page that is not asked for one has none."""
    ran = long.do(["list", {"limit": 2, "cursor": ""}], ["list", {"limit": 2, "skip": 128}])
    first, last = (each["value"] for each in ran.outcomes)
    whole = long.do(["list", {"cursor": "", "where": {"number": "1"}}]).value

    assert isinstance(first["cursor"], str)
    assert ("cursor" in last, whole["cursor"], whole["hasNextPage"]) == (False, None, False)


def test_rows_with_skip_come_by_position(long: NodeSheet, middlebox: Middlebox) -> None:
    """From there on, without a cursor."""
    rows = long.do(["rows", {"skip": 20, "pageSize": 60}]).value

    assert numbers(rows) == NUMBERS[20:]
    assert [each.get("skip") for each in asked(middlebox)] == [["20"], ["80"]]
    assert [each for each in asked(middlebox) if "cursor" in each] == []


def test_a_lost_cursor_is_an_error_of_its_own(long: NodeSheet, middlebox: Middlebox) -> None:
    """It says to begin again; the client does not do so by itself."""
    middlebox.fail(Fault(status=410, headers=JSON, text=json.dumps(LOST)))
    error = long.do(["rows", {"pageSize": 50}]).error

    assert (error["kind"], error["name"], error["code"]) == ("CursorLost", "CursorLost", 4101)
    assert "Begin again" in error["message"]
    assert len(middlebox.arrived) == 1


def test_a_gateway_that_ignores_cursors_is_named(long: NodeSheet, middlebox: Middlebox) -> None:
    """Its first page is not taken for the next one again and again."""
    middlebox.fail(*[old_page(more=True)] * 3, old_page(more=False))
    error = long.do(["rows", {"pageSize": 1}]).error

    assert error["kind"] == "SheetsFailure"
    assert "older than this client" in error["message"]
    assert len(middlebox.arrived) == 1


def test_an_old_gateway_gives_what_one_page_holds(long: NodeSheet, middlebox: Middlebox) -> None:
    """Nothing is missing then."""
    middlebox.fail(old_page(more=False))

    assert numbers(long.do(["rows"]).value) == ["1"]


@pytest.mark.parametrize("page_size", [0, -1, None])
def test_a_page_without_rows_is_refused(
    long: NodeSheet, middlebox: Middlebox, page_size: Any
) -> None:
    """No next page would ever come; nothing is sent."""
    error = long.do(["rows", {"pageSize": page_size}]).error

    assert (error["kind"], "pageSize" in error["message"]) == ("TypeError", True)
    assert middlebox.arrived == []


def test_an_export_is_csv(cities: NodeSheet) -> None:
    """The text of all rows that match, with the options of a list."""
    options = {"where": {"state": "Texas"}, "order": "-name", "keys": ["name"]}
    text = cities.do(["export", "csv", options]).value

    assert text == "rowIndex,name\r\n8,San Antonio\r\n5,Houston\r\n10,Dallas\r\n"


def test_an_export_is_ndjson(connect: Connect) -> None:
    """An object in each line, typed if the client is."""
    sheet = connect(values="typed")
    text = sheet.do(["export", "ndjson", {"keys": ["population"], "limit": 2}]).value

    assert [json.loads(line) for line in text.splitlines()] == [
        {"rowIndex": 2, "population": 8804190},
        {"rowIndex": 3, "population": 3898747},
    ]


def test_a_cut_export_is_tried_again(long: NodeSheet, middlebox: Middlebox) -> None:
    """A part is never taken for the whole."""
    whole = long.do(["export"]).value
    middlebox.fail(Fault(kept_bytes=100), Fault(kept_bytes=len(whole) - 1))

    assert long.do(["export"]).value == whole
    assert len(middlebox.arrived) == 4


@pytest.mark.parametrize(
    ("export_format", "media_type", "text"),
    [
        ("csv", "text/csv", 'rowIndex,number\r\n2,"1\n\n"\r\n'),
        ("ndjson", "application/x-ndjson", '{"rowIndex":2,"number":"1"}\n'),
    ],
)
def test_an_export_that_ends_like_a_whole_one_is_tried_again(
    long: NodeSheet, middlebox: Middlebox, export_format: str, media_type: str, text: str
) -> None:
    """It has fewer rows than its header says: a proxy ended it, and Node does not see that."""
    options = {"skip": 1, "limit": 2}
    whole = long.do(["export", export_format, options]).value
    headers = {
        "Content-Type": media_type,
        "X-Total-Count": "130",
        "Access-Control-Expose-Headers": "*",
    }
    middlebox.fail(Fault(status=200, headers=headers, text=text))

    assert long.do(["export", export_format, options]).value == whole
    assert len(middlebox.arrived) == 3


def test_an_export_that_stays_cut_is_an_error(connect: Connect, middlebox: Middlebox) -> None:
    """At the last try."""
    middlebox.fail(Fault(kept_bytes=100))
    error = connect("Long", retry={"tries": 1}).do(["export", "ndjson"]).error

    assert error["kind"] == "ConnectionFailed"


def test_an_answer_of_another_type_is_not_an_export(long: NodeSheet, middlebox: Middlebox) -> None:
    """A gateway without exports answers the first page of a list."""
    middlebox.fail(old_page(more=True))
    error = long.do(["export"]).error

    assert (error["kind"], error["code"]) == ("SheetsError", 0)


def test_an_unknown_format_is_refused(long: NodeSheet, middlebox: Middlebox) -> None:
    """Before anything is sent."""
    error = long.do(["export", "toString"]).error

    assert error["message"] == '"toString" is not a format of exports: csv, ndjson.'
    assert middlebox.arrived == []
