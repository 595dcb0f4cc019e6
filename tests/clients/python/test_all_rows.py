"""All rows of a worksheet, by cursor, by position, and as an export."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sheets_gateway_client import (
    ConnectionFailed,
    CursorLost,
    RetryOptions,
    SheetsError,
    SheetsFailure,
)
from tests.clients.middlebox import Fault, Middlebox
from tests.clients.python.conftest import Connect

NUMBERS = [str(number) for number in range(1, 131)]
LOST = {
    "type": "SheetsonError",
    "name": "CursorLost",
    "code": 4101,
    "message": "Begin again with the first page.",
    "status": 410,
    "retryable": False,
}
JSON = {"Content-Type": "application/json; charset=utf-8"}


def asked(middlebox: Middlebox) -> Sequence[Mapping[str, list[str]]]:
    """The parameters of all requests; empty ones too."""
    queries = (urlsplit(each.target).query for each in middlebox.arrived)
    return [parse_qs(query, keep_blank_values=True) for query in queries]


def old_page(*, more: bool) -> Fault:
    """The answer of a gateway that ignores `cursor`."""
    body = {"results": [{"rowIndex": 2, "number": "1"}], "hasNextPage": more}
    return Fault(status=200, headers=JSON, text=json.dumps(body))


def test_rows_go_on_with_the_cursor_of_each_page(connect: Connect, middlebox: Middlebox) -> None:
    """The first page has an empty one; after the page without one no request follows."""
    rows = connect().sheet("Long").rows(order="number", page_size=50)
    found = [row["number"] for row in rows]
    first, *others = asked(middlebox)

    assert found == NUMBERS
    assert (first["cursor"], first["order"], "skip" in first) == ([""], ["number"], False)
    assert len(others) == 2
    assert len({*first["cursor"], *(each["cursor"][0] for each in others)}) == 3


def test_a_page_has_the_cursor_of_the_next(connect: Connect) -> None:
    """The last page has none, and a page that is not asked for one has none either."""
    sheet = connect().sheet("Long")
    first = sheet.list(limit=100, cursor="")
    last = sheet.list(limit=100, cursor=first.cursor)

    assert [row["number"] for page in (first, last) for row in page] == NUMBERS
    assert (last.cursor, last.has_next_page, sheet.list().cursor) == (None, False, None)


def test_a_row_deleted_above_moves_no_page(connect: Connect) -> None:
    """By cursor each other row comes once, where pages by position lose one."""
    sheet = connect().sheet("Long")
    first = sheet.list(limit=50, cursor="")
    sheet.delete(10)
    rest = sheet.list(limit=100, cursor=first.cursor)
    by_position = sheet.list(limit=1, skip=50)

    assert [row["number"] for page in (first, rest) for row in page] == NUMBERS
    assert by_position.rows[0]["number"] == "52"


def test_rows_with_skip_come_by_position(connect: Connect, middlebox: Middlebox) -> None:
    """From there on, without a cursor."""
    rows = connect().sheet("Long").rows(skip=20, page_size=60)

    assert [row["number"] for row in rows] == NUMBERS[20:]
    assert [each.get("skip") for each in asked(middlebox)] == [["20"], ["80"]]
    assert [each for each in asked(middlebox) if "cursor" in each] == []


def test_a_lost_cursor_is_an_error_of_its_own(connect: Connect, middlebox: Middlebox) -> None:
    """It says to begin again; the client does not do so by itself."""
    middlebox.fail(Fault(status=410, headers=JSON, text=json.dumps(LOST)))
    with pytest.raises(CursorLost, match=r"\(4101\).*Begin again") as raised:
        list(connect().sheet("Long").rows(page_size=50))

    assert isinstance(raised.value, SheetsError)
    assert len(middlebox.arrived) == 1


def test_a_gateway_that_ignores_cursors_is_named(connect: Connect, middlebox: Middlebox) -> None:
    """Its first page is not taken for the next one again and again."""
    middlebox.fail(*[old_page(more=True)] * 3, old_page(more=False))
    with pytest.raises(SheetsFailure, match="older than this client"):
        list(connect().sheet("Long").rows(page_size=1))

    assert len(middlebox.arrived) == 1


def test_an_old_gateway_gives_what_one_page_holds(connect: Connect, middlebox: Middlebox) -> None:
    """Nothing is missing then."""
    middlebox.fail(old_page(more=False))

    assert [row["number"] for row in connect().sheet("Long").rows()] == ["1"]


@pytest.mark.parametrize("page_size", [0, -1, None])
def test_a_page_without_rows_is_refused(
    connect: Connect, middlebox: Middlebox, page_size: Any
) -> None:
    """No next page would ever come; nothing is sent."""
    with pytest.raises(ValueError, match="page_size"):
        list(connect().sheet("Long").rows(page_size=page_size))

    assert middlebox.arrived == []


def test_an_export_is_csv(connect: Connect) -> None:
    """The text of all rows that match, with the options of a list."""
    text = connect().sheet("Cities").export(where={"state": "Texas"}, order="-name", keys="name")

    assert text == "rowIndex,name\r\n8,San Antonio\r\n5,Houston\r\n10,Dallas\r\n"


def test_an_export_is_ndjson(connect: Connect) -> None:
    """An object in each line, typed if the client is."""
    text = connect(values="typed").sheet("Cities").export("ndjson", keys=["population"], limit=2)

    assert [json.loads(line) for line in text.splitlines()] == [
        {"rowIndex": 2, "population": 8804190},
        {"rowIndex": 3, "population": 3898747},
    ]


def test_rows_of_an_export_come_at_once(connect: Connect, middlebox: Middlebox) -> None:
    """One request has all of them."""
    rows = connect().sheet("Long").export_rows(skip=1)

    assert [(row.row_index, row["number"]) for row in rows] == [*enumerate(NUMBERS[1:], 3)]
    assert len(middlebox.arrived) == 1


@pytest.mark.parametrize("export_format", ["csv", "ndjson"])
def test_a_cut_export_is_tried_again(
    connect: Connect, middlebox: Middlebox, export_format: str
) -> None:
    """A part is never taken for the whole, wherever it ends."""
    sheet = connect().sheet("Long")
    whole = sheet.export(export_format)
    middlebox.fail(Fault(kept_bytes=100), Fault(kept_bytes=len(whole) - 1))

    assert sheet.export(export_format) == whole
    assert len(middlebox.arrived) == 4


def test_an_export_that_stays_cut_is_an_error(connect: Connect, middlebox: Middlebox) -> None:
    """At the last try, and no row is given."""
    middlebox.fail(Fault(kept_bytes=100))
    with pytest.raises(ConnectionFailed):
        list(connect(retry=RetryOptions(tries=1)).sheet("Long").export_rows())


def test_an_answer_of_another_type_is_not_an_export(connect: Connect, middlebox: Middlebox) -> None:
    """A gateway without exports answers the first page of a list."""
    middlebox.fail(old_page(more=True))
    with pytest.raises(SheetsError, match="status 200"):
        connect().sheet("Long").export()


def test_an_unknown_format_is_refused(connect: Connect, middlebox: Middlebox) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="'xlsx' is not a format of exports: csv, ndjson"):
        connect().sheet("Long").export("xlsx")

    assert middlebox.arrived == []
