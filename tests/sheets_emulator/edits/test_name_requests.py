"""Tests of named ranges: requests that change them, and calls that use a name as a range."""

from typing import Any

import pytest

from tests.sheets_emulator.bench import Bench, message, values_path
from tests.sheets_emulator.conftest import BenchBuilder
from tests.sheets_emulator.requests_of import Request, dimension

BOX = {"startRowIndex": 0, "endRowIndex": 2, "startColumnIndex": 1, "endColumnIndex": 3}


def add(bench: Bench, name: str = "Total", **members: object) -> Any:
    """Add a named range, by default for B1:C2, and return the NamedRange of the reply."""
    named = {"name": name, "range": {"sheetId": 0, **BOX}, **members}
    answer = bench.edit({"addNamedRange": {"namedRange": named}})
    return answer.json()["replies"][0]["addNamedRange"]["namedRange"]


def update(bench: Bench, fields: str, **members: object) -> Any:
    return bench.edit({"updateNamedRange": {"namedRange": members, "fields": fields}})


def shown(bench: Bench) -> Any:
    return bench.described(fields="namedRanges")


def test_named_range_is_returned_with_its_id(bench: Bench) -> None:
    """The reply and a read have the same NamedRange with a string ID (recorded from Google)."""
    reply = add(bench)

    assert reply == {"namedRangeId": reply["namedRangeId"], "name": "Total", "range": BOX}
    assert isinstance(reply["namedRangeId"], str)
    assert shown(bench) == {"namedRanges": [reply]}
    assert bench.described()["namedRanges"] == [reply]


def test_deleted_named_range_is_gone(bench: Bench) -> None:
    """A spreadsheet without named ranges has no `namedRanges` field (recorded from Google)."""
    number = add(bench)["namedRangeId"]
    reply = bench.edit({"deleteNamedRange": {"namedRangeId": number}}).json()["replies"]

    assert reply == [{}]
    assert shown(bench) == {}


@pytest.mark.parametrize(
    ("fields", "name", "range_"),
    [
        ("name", "New", BOX),
        ("range", "Total", {"startRowIndex": 0, "endRowIndex": 1}),
        ("name,range", "New", {"startRowIndex": 0, "endRowIndex": 1}),
        ("*", "New", {"startRowIndex": 0, "endRowIndex": 1}),
    ],
)
def test_update_of_a_named_range_sets_the_fields_of_its_mask(
    bench: Bench, fields: str, name: str, range_: Request
) -> None:
    """The mask selects the name, the range or both."""
    number = add(bench)["namedRangeId"]
    update(bench, fields, namedRangeId=number, name="New", range={"sheetId": 0, "endRowIndex": 1})

    assert shown(bench)["namedRanges"] == [{"namedRangeId": number, "name": name, "range": range_}]


def test_the_case_of_a_name_can_change(bench: Bench) -> None:
    """Names are compared without case, but a named range does not conflict with itself."""
    number = add(bench)["namedRangeId"]
    answer = update(bench, "name", namedRangeId=number, name="TOTAL")

    assert answer.status_code == 200
    assert shown(bench)["namedRanges"][0]["name"] == "TOTAL"


@pytest.mark.parametrize("text", ["Total", "total", "Data!Total", "'Data'!Total"])
def test_a_name_is_read_as_its_range(build: BenchBuilder, text: str) -> None:
    """A read by name, in any case, returns the range in A1 notation (recorded from Google)."""
    bench = build({"Data": "a,b,c\nd,e,f\ng,h,i\n"})
    add(bench)

    assert bench.values(text) == {
        "range": "Data!B1:C2",
        "majorDimension": "ROWS",
        "values": [["b", "c"], ["e", "f"]],
    }


def test_a_name_can_be_updated_appended_to_and_cleared(build: BenchBuilder) -> None:
    """Each call that takes a range also takes a name."""
    bench = build({"Data": "a,b,c\n,,\n,,\n"})
    add(bench)
    update_answer = bench.update("Total", [["x"]]).json()
    append_answer = bench.append("Total", [["y"]]).json()
    sheets = bench.described(fields="sheets.data.startColumn", ranges="Total")
    cleared = bench.call("POST", f"{values_path('Total')}:clear").json()

    assert update_answer["updatedRange"] == "Data!B1"
    assert append_answer["updates"]["updatedRange"] == "Data!A2"
    assert sheets == {"sheets": [{"data": [{"startColumn": 1}]}]}
    assert cleared["clearedRange"] == "Data!B1:C2"


def test_an_unquoted_text_is_a_name_before_it_is_a_title(build: BenchBuilder) -> None:
    """`Total` is the named range, and `'Total'` is the worksheet (Google's documentation)."""
    bench = build({"Data": "a,b,c\n", "Total": "x\n"})
    bench.edit({"addNamedRange": {"namedRange": {"name": "Total", "range": {"endColumnIndex": 2}}}})

    assert bench.values("Total")["range"] == "Data!A1:B1"
    assert bench.values("'Total'")["range"] == "Total!A1"


def test_name_of_another_worksheet_is_not_found(build: BenchBuilder) -> None:
    """`Other!Total` is an error if the named range `Total` is on another worksheet."""
    bench = build({"Data": "a,b,c\n", "Other": "x\n"})
    add(bench, range={"sheetId": 0, "endRowIndex": 1})
    answer = bench.call("GET", values_path("Other!Total"))

    assert message(answer) == "Unable to parse range: Other!Total"


def test_named_range_follows_its_cells(bench: Bench) -> None:
    """A row inserted above moves the range down, and a row inserted inside extends the range."""
    add(bench)
    bench.edit(
        dimension("insertDimension", "ROWS", 0, 1), dimension("insertDimension", "ROWS", 2, 3)
    )

    assert shown(bench)["namedRanges"][0]["range"] == {**BOX, "startRowIndex": 1, "endRowIndex": 4}


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        pytest.param(
            {"addNamedRange": {"namedRange": {"name": "TOTAL", "range": {}}}},
            "Cannot add named range with name TOTAL, a named range with that name already exists.",
            id="name taken",
        ),
        pytest.param(
            {"addNamedRange": {"namedRange": {"name": "A1", "range": {}}}},
            'The name "A1" is not valid',
            id="looks like a cell",
        ),
        pytest.param(
            {"addNamedRange": {"namedRange": {"name": "x", "namedRangeId": "id", "range": {}}}},
            "with that ID already exists",
            id="id taken",
        ),
        pytest.param({"addNamedRange": {"namedRange": {"name": "x"}}}, "a range", id="no range"),
        pytest.param(
            {"deleteNamedRange": {"namedRangeId": "7"}}, "No NamedRange with id: 7", id="no id"
        ),
        pytest.param(
            {"updateNamedRange": {"namedRange": {"namedRangeId": "id"}, "fields": "name"}},
            'The name "" is not valid',
            id="empty name",
        ),
        pytest.param(
            {"updateNamedRange": {"namedRange": {"namedRangeId": "id"}, "fields": "title"}},
            "Invalid field: title",
            id="unknown field",
        ),
    ],
)
def test_invalid_requests_for_named_ranges_are_refused(
    bench: Bench, request_: Request, complaint: str
) -> None:
    """A used or invalid name, a used or unknown ID, no range and an unknown field get 400."""
    add(bench, namedRangeId="id")
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert complaint in message(answer)
