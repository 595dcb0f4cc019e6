"""Tests of developer metadata: creation, update, deletion, and moves with rows and columns."""

from typing import Any

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BLANK_GRID, BenchBuilder
from tests.sheets_emulator.metadata_of import (
    SPREADSHEET,
    by,
    column,
    create,
    delete,
    found,
    row,
    values,
)
from tests.sheets_emulator.requests_of import Request, dimension, properties_of

KEY = "fence"
LIMIT = 30_000


def rows_of(start: int, end: int) -> Request:
    """Return a DimensionRange of rows of the first worksheet."""
    return {"sheetId": 0, "dimension": "ROWS", "startIndex": start, "endIndex": end}


def test_created_metadata_is_returned_and_found(bench: Bench) -> None:
    """The reply and a search by ID return the whole metadata resource."""
    answer = bench.edit(create(7))
    expected = {
        "metadataId": 7,
        "metadataKey": "fence",
        "metadataValue": "token",
        "location": {"locationType": "SPREADSHEET", "spreadsheet": True},
        "visibility": "DOCUMENT",
    }

    assert answer.json()["replies"] == [
        {"createDeveloperMetadata": {"developerMetadata": expected}}
    ]
    assert found(bench, by(metadataId=7)) == [expected]


def test_metadata_is_read_by_its_id(bench: Bench) -> None:
    """An unknown ID gets 404, and an ID above the int32 range gets 400."""
    bench.edit(create(7))
    path = "/v4/spreadsheets/book/developerMetadata"
    answers = [bench.call("GET", f"{path}/{number}") for number in (7, 8, 10**12)]

    assert answers[0].json() == found(bench, by(metadataId=7))[0]
    assert [answer.status_code for answer in answers] == [200, 404, 400]


def test_a_used_id_rejects_the_whole_batch(bench: Bench) -> None:
    """The error names the index of the failed request, and no request of the batch is applied."""
    bench.edit(create(7, "first"))
    answer = bench.edit({"addSheet": {"properties": {"title": "New"}}}, create(7, "second"))

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid requests[1].createDeveloperMetadata: ")
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data"]
    assert values(bench, by(metadataId=7)) == ["first"]


def test_a_used_id_is_accepted_by_an_emulator_with_repeatable_ids(build: BenchBuilder) -> None:
    """With `repeatable_metadata_ids`, a deletion by ID removes all items with that ID."""
    bench = build({"Data": BLANK_GRID}, EmulatorOptions(repeatable_metadata_ids=True))
    bench.edit(create(7, "first"))
    bench.edit(create(7, "second"), create(8, "other"))
    both = values(bench, by(metadataId=7))
    bench.edit(delete(metadataId=7))

    assert both == ["first", "second"]
    assert values(bench, by()) == ["other"]


def test_a_deleted_id_can_be_used_again(bench: Bench) -> None:
    """A deletion returns the deleted item and frees the item's ID within the same batch."""
    bench.edit(create(7, "first"))
    [deleted, _] = bench.edit(delete(metadataId=7), create(7, "second")).json()["replies"]

    reply = deleted["deleteDeveloperMetadata"]
    assert [each["metadataValue"] for each in reply["deletedDeveloperMetadata"]] == ["first"]
    assert values(bench, by(metadataId=7)) == ["second"]


def test_a_deletion_of_nothing_is_accepted(bench: Bench) -> None:
    """A deletion whose filter matches no metadata succeeds with an empty reply."""
    answer = bench.edit(delete(metadataId=7))

    assert answer.json()["replies"] == [{"deleteDeveloperMetadata": {}}]


def test_an_id_is_assigned_where_none_is_given(bench: Bench) -> None:
    """IDs that the emulator assigns are positive and distinct."""
    replies = bench.edit(create(), create()).json()["replies"]
    ids = [reply["createDeveloperMetadata"]["developerMetadata"]["metadataId"] for reply in replies]

    assert len(set(ids)) == 2
    assert min(ids) > 0


@pytest.mark.parametrize(
    ("location", "described"),
    [
        (SPREADSHEET, {"locationType": "SPREADSHEET", **SPREADSHEET}),
        ({"sheetId": 0}, {"locationType": "SHEET", "sheetId": 0}),
        (
            row(2),
            {
                "locationType": "ROW",
                "dimensionRange": {"dimension": "ROWS", "startIndex": 2, "endIndex": 3},
            },
        ),
        (
            {**column(0), "locationType": "ROW"},
            {
                "locationType": "COLUMN",
                "dimensionRange": {"dimension": "COLUMNS", "startIndex": 0, "endIndex": 1},
            },
        ),
    ],
    ids=["spreadsheet", "sheet", "row", "column"],
)
def test_a_location_is_returned_with_its_type(
    bench: Bench, location: dict[str, Any], described: dict[str, Any]
) -> None:
    """The emulator derives `locationType` from the location and ignores a type that is sent."""
    bench.edit(create(7, location=location))

    assert found(bench, by(metadataId=7))[0]["location"] == described


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"metadataKey": ""}, id="no key"),
        pytest.param({"visibility": None}, id="no visibility"),
        pytest.param({"metadataId": -1}, id="negative ID"),
        pytest.param({"metadataId": 2**31}, id="ID that is no int32"),
        pytest.param({"location": None}, id="no location"),
        pytest.param({"location": {"spreadsheet": False}}, id="location of false"),
        pytest.param({"location": {"sheetId": 0, "spreadsheet": True}}, id="two locations"),
        pytest.param({"location": {"sheetId": 9}}, id="unknown worksheet"),
        pytest.param({"location": row(5)}, id="row past the grid"),
        pytest.param({"location": column(-1)}, id="negative column"),
        pytest.param(
            {"location": {"dimensionRange": {"dimension": "ROWS", "startIndex": 4}}},
            id="unbounded rows",
        ),
        pytest.param(
            {"location": {"dimensionRange": {"dimension": "ROWS", "endIndex": 2}}},
            id="two rows",
        ),
        pytest.param({"metadataValue": "x" * LIMIT}, id="too long"),
    ],
)
def test_invalid_metadata_is_refused(bench: Bench, members: dict[str, Any]) -> None:
    """Metadata gets 400 if its key, visibility, ID, location or length is invalid."""
    answer = bench.edit(create(**members))

    assert answer.status_code == 400
    assert found(bench, by()) == []


@pytest.mark.parametrize("location", [SPREADSHEET, {"sheetId": 0}], ids=["spreadsheet", "sheet"])
def test_keys_and_values_share_a_length_limit(bench: Bench, location: dict[str, Any]) -> None:
    """A worksheet with its rows has a limit of 30,000 characters, and so has a spreadsheet."""
    rest = "x" * (LIMIT - 2 * len(KEY) - 1)
    full = bench.edit(create(value="y", location=location), create(value=rest, location=location))
    place = row(1) if "sheetId" in location else location
    refused = bench.edit(create(value="", location=place))
    bench.edit(delete(metadataValue="y"))

    assert (full.status_code, refused.status_code) == (200, 400)
    assert message(refused).startswith("Invalid requests[0].createDeveloperMetadata: ")
    assert bench.edit(create(value="", location=place)).status_code == 200


@pytest.mark.parametrize(
    ("request_", "rows"),
    [
        (dimension("insertDimension", "ROWS", 0, 2), [4]),
        (dimension("insertDimension", "ROWS", 2, 3), [3]),
        (dimension("insertDimension", "ROWS", 3, 4), [2]),
        (dimension("deleteDimension", "ROWS", 0, 1), [1]),
        (dimension("deleteDimension", "ROWS", 1, 4), []),
        (dimension("deleteDimension", "COLUMNS", 0, 1), [2]),
        ({"moveDimension": {"source": rows_of(2, 3), "destinationIndex": 5}}, [4]),
        ({"moveDimension": {"source": rows_of(3, 5), "destinationIndex": 0}}, [4]),
        (properties_of("gridProperties.rowCount", gridProperties={"rowCount": 2}), []),
        ({"sortRange": {"range": {}, "sortSpecs": [{"dimensionIndex": 0}]}}, [2]),
    ],
)
def test_metadata_of_a_row_moves_and_is_deleted_with_its_row(
    bench: Bench, request_: Request, rows: list[int]
) -> None:
    """Sorting does not move metadata, because sorting moves values and not rows."""
    bench.update("Data!A1", [["c"], ["b"], ["a"]])
    bench.edit(create(7, location=row(2)), request_)
    ranges = [each["location"]["dimensionRange"] for each in found(bench, by(metadataId=7))]

    assert [each["startIndex"] for each in ranges] == rows
    assert [each["endIndex"] for each in ranges] == [start + 1 for start in rows]


def test_metadata_of_a_column_moves_with_its_column(bench: Bench) -> None:
    """An inserted column moves metadata from column B to C. Deleting rows leaves the column."""
    bench.edit(
        create(7, location=column(1)),
        dimension("insertDimension", "COLUMNS", 0, 1),
        dimension("deleteDimension", "ROWS", 0, 2),
    )
    [metadata] = found(bench, by(metadataId=7))

    assert metadata["location"]["dimensionRange"]["startIndex"] == 2


def test_metadata_is_deleted_with_its_worksheet(bench: Bench) -> None:
    """Metadata of the spreadsheet stays, and a copy of the worksheet has no metadata."""
    bench.edit(
        create(1, location={"sheetId": 0}),
        create(2, location=row(0)),
        create(3),
        {"duplicateSheet": {"sourceSheetId": 0}},
        {"deleteSheet": {"sheetId": 0}},
    )

    assert [each["metadataId"] for each in found(bench, by())] == [3]


def test_project_metadata_of_the_owner_is_hidden(bench: Bench) -> None:
    """The account cannot read or delete the owner's `PROJECT` metadata, nor reuse the ID."""
    bench.owner_edits(create(1, "shown"), create(2, "hidden", visibility="PROJECT"))
    bench.edit(create(3, "own", visibility="PROJECT"))
    path = "/v4/spreadsheets/book/developerMetadata/2"
    bench.edit(delete(metadataKey=KEY, visibility="PROJECT"))
    refused = bench.edit(create(2, "taken"))
    bench.owner_edits(
        {
            "updateDeveloperMetadata": {
                "dataFilters": [by(metadataId=2)],
                "developerMetadata": {"visibility": "DOCUMENT"},
                "fields": "visibility",
            }
        }
    )

    assert bench.call("GET", path).json()["metadataValue"] == "hidden"
    assert refused.status_code == 400
    assert values(bench, by()) == ["shown", "hidden"]


def update(fields: str, *filters: dict[str, Any], **members: object) -> Any:
    """Return an `updateDeveloperMetadata` request."""
    return {
        "updateDeveloperMetadata": {
            "dataFilters": list(filters),
            "developerMetadata": members,
            "fields": fields,
        }
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("metadataValue", ("fence", "new", "DOCUMENT", "SPREADSHEET")),
        ("metadataKey,visibility", ("k", "old", "PROJECT", "SPREADSHEET")),
        ("location", ("fence", "old", "DOCUMENT", "ROW")),
        ("*", ("k", "new", "PROJECT", "ROW")),
    ],
)
def test_an_update_replaces_the_fields_of_its_mask(
    bench: Bench, fields: str, expected: tuple[str, ...]
) -> None:
    """The reply has the whole resource. The ID and other metadata stay the same."""
    bench.edit(create(7, "old"), create(8, "other", location=row(1)))
    members = {"metadataKey": "k", "metadataValue": "new", "visibility": "PROJECT"}
    request_ = update(fields, by(metadataId=7), **members, location=row(4))
    [reply] = bench.edit(request_).json()["replies"]
    [metadata] = found(bench, by(metadataId=7))

    assert reply["updateDeveloperMetadata"]["developerMetadata"] == [metadata]
    kind = metadata["location"]["locationType"]
    names = ("metadataKey", "metadataValue", "visibility")
    assert (*(metadata[name] for name in names), kind) == expected
    assert values(bench, by(metadataId=8)) == ["other"]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(update("metadataValue", by(metadataId=9), metadataValue="x"), id="no match"),
        pytest.param(update("metadataValue", metadataValue="x"), id="no filter"),
        pytest.param(update("", by(), metadataValue="x"), id="no mask"),
        pytest.param(update("metadataId", by(), metadataId=9), id="ID"),
        pytest.param(update("metadataKey", by()), id="no key"),
        pytest.param(update("visibility", by()), id="no visibility"),
        pytest.param(update("location", by()), id="no location"),
        pytest.param(update("metadataValue", by(), metadataValue="x" * LIMIT), id="too long"),
    ],
)
def test_an_invalid_update_of_metadata_is_refused(bench: Bench, request_: Request) -> None:
    """An update gets 400 without a match or mask, or if the result would be invalid metadata."""
    bench.edit(create(7, "old"))
    answer = bench.edit(request_)

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid requests[0].updateDeveloperMetadata: ")
    assert values(bench, by()) == ["old"]


def test_metadata_is_returned_at_each_level_of_a_spreadsheet(bench: Bench) -> None:
    """Spreadsheet, worksheet, row and column have metadata, without the owner's `PROJECT` items."""
    bench.edit(
        create(1), create(2, location={"sheetId": 0}),
        create(3, location=row(1)), create(4, location=column(2)),
    )  # fmt: skip
    bench.owner_edits(create(5, visibility="PROJECT"))
    mask = "developerMetadata.metadataId"
    data = f"rowMetadata.{mask},columnMetadata.{mask}"
    fields = f"{mask},sheets({mask},data({data}))"

    assert bench.described(ranges="Data!A2:C3", fields=fields) == {
        "developerMetadata": [{"metadataId": 1}],
        "sheets": [
            {
                "developerMetadata": [{"metadataId": 2}],
                "data": [
                    {
                        "rowMetadata": [{"developerMetadata": [{"metadataId": 3}]}, {}],
                        "columnMetadata": [{}, {}, {"developerMetadata": [{"metadataId": 4}]}],
                    }
                ],
            }
        ],
    }
