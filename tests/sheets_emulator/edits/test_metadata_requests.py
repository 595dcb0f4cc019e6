"""Developer metadata: createDeveloperMetadata and deleteDeveloperMetadata."""

from typing import Any

import pytest

from sheets_emulator.app import EmulatorOptions
from tests.sheets_emulator.bench import Bench, message
from tests.sheets_emulator.conftest import BLANK_GRID, BenchBuilder

SPREADSHEET = {"spreadsheet": True}


def create(metadata_id: int | None = None, value: str = "token", **members: object) -> Any:
    """A createDeveloperMetadata request, on the spreadsheet unless told otherwise."""
    metadata: dict[str, object] = {
        "metadataKey": "fence",
        "metadataValue": value,
        "location": SPREADSHEET,
        "visibility": "DOCUMENT",
    }
    if metadata_id is not None:
        metadata["metadataId"] = metadata_id
    return {"createDeveloperMetadata": {"developerMetadata": metadata | members}}


def by(**lookup: object) -> dict[str, Any]:
    """A DataFilter with a lookup."""
    return {"developerMetadataLookup": lookup}


def delete(**lookup: object) -> Any:
    """A deleteDeveloperMetadata request."""
    return {"deleteDeveloperMetadata": {"dataFilter": by(**lookup)}}


def found(bench: Bench, *filters: dict[str, Any]) -> list[dict[str, Any]]:
    """The metadata that a search finds."""
    path = "/v4/spreadsheets/book/developerMetadata:search"
    answer = bench.call("POST", path, {"dataFilters": list(filters)}).json()
    return [each["developerMetadata"] for each in answer.get("matchedDeveloperMetadata", [])]


def values(bench: Bench, *filters: dict[str, Any]) -> list[str]:
    """The values of the metadata that a search finds."""
    return [each["metadataValue"] for each in found(bench, *filters)]


def test_created_metadata_is_returned_and_found(bench: Bench) -> None:
    """The reply and a search by ID have the whole resource."""
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
    """An unknown ID is a 404, and one that is no int32 a 400."""
    bench.edit(create(7))
    path = "/v4/spreadsheets/book/developerMetadata"
    answers = [bench.call("GET", f"{path}/{number}") for number in (7, 8, 10**12)]

    assert answers[0].json() == found(bench, by(metadataId=7))[0]
    assert [answer.status_code for answer in answers] == [200, 404, 400]


def test_a_used_id_is_refused_and_the_whole_batch_with_it(bench: Bench) -> None:
    """The refusal names its request, and no request of the batch is applied."""
    bench.edit(create(7, "first"))
    answer = bench.edit({"addSheet": {"properties": {"title": "New"}}}, create(7, "second"))

    assert answer.status_code == 400
    assert message(answer).startswith("Invalid requests[1].createDeveloperMetadata: ")
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data"]
    assert values(bench, by(metadataId=7)) == ["first"]


def test_a_used_id_is_accepted_by_an_emulator_with_repeatable_ids(build: BenchBuilder) -> None:
    """Then several items have the same ID, and a deletion by ID removes all of them."""
    bench = build({"Data": BLANK_GRID}, EmulatorOptions(repeatable_metadata_ids=True))
    bench.edit(create(7, "first"))
    bench.edit(create(7, "second"), create(8, "other"))
    both = values(bench, by(metadataId=7))
    bench.edit(delete(metadataId=7))

    assert both == ["first", "second"]
    assert values(bench, by()) == ["other"]


def test_a_deleted_id_may_be_used_again(bench: Bench) -> None:
    """A deletion returns what it deleted; its ID is free in the same batch."""
    bench.edit(create(7, "first"))
    [deleted, _] = bench.edit(delete(metadataId=7), create(7, "second")).json()["replies"]

    reply = deleted["deleteDeveloperMetadata"]
    assert [each["metadataValue"] for each in reply["deletedDeveloperMetadata"]] == ["first"]
    assert values(bench, by(metadataId=7)) == ["second"]


def test_a_deletion_of_nothing_is_accepted(bench: Bench) -> None:
    """A filter that selects no metadata deletes none."""
    answer = bench.edit(delete(metadataId=7))

    assert answer.json()["replies"] == [{"deleteDeveloperMetadata": {}}]


def test_an_id_is_assigned_where_none_is_given(bench: Bench) -> None:
    """Assigned IDs are positive and distinct."""
    replies = bench.edit(create(), create()).json()["replies"]
    ids = [reply["createDeveloperMetadata"]["developerMetadata"]["metadataId"] for reply in replies]

    assert len(set(ids)) == 2
    assert min(ids) > 0


@pytest.mark.parametrize(
    ("status", "drop"), [(503, False), (504, False), (None, True)], ids=["503", "504", "dropped"]
)
def test_a_late_batch_update_is_refused_when_its_effect_would_come(
    bench: Bench, status: int | None, drop: bool
) -> None:
    """A used ID is looked for at the moment of the effect, not of the answer."""
    late = {"call": "spreadsheets.batchUpdate", "late_ms": 5000, "status": status, "drop": drop}
    bench.fault({**late, "match": "late"})
    first = {"addSheet": {"properties": {"title": "New"}}}
    if drop:
        with pytest.raises(ConnectionAbortedError):
            bench.edit(first, create(7, "late"))
    else:
        assert bench.edit(first, create(7, "late")).status_code == status
    bench.edit(create(7, "in time"))
    bench.clock.advance(6)

    assert values(bench, by(metadataId=7)) == ["in time"]
    assert [sheet["title"] for sheet in bench.sheets()] == ["Data"]


def test_a_late_batch_update_applies_if_its_id_is_still_free(bench: Bench) -> None:
    """Before the effect the ID is free, after it the metadata is there."""
    bench.fault({"call": "spreadsheets.batchUpdate", "late_ms": 5000})
    answer = bench.edit(create(7, "late"))
    before = found(bench, by(metadataId=7))
    bench.clock.advance(6)

    assert answer.status_code == 503
    assert before == []
    assert values(bench, by(metadataId=7)) == ["late"]


@pytest.mark.parametrize(
    ("text", "fields", "rows"),
    [
        ("'Data'!A3:ZZ", "", None),
        (
            "'Data'!A3:ZZ",
            "replies,updatedSpreadsheet(sheets(data(startRow,rowData)))",
            [["x"], ["y"]],
        ),
        ("'Data'!3:1000", "updatedSpreadsheet.sheets.data", [["x"], ["y"]]),
        ("'Data'!A4:C", "updatedSpreadsheet(sheets(properties(title),data))", [["y"]]),
        ("'Data'", "updatedSpreadsheet", [["a"], [], ["x"], ["y"]]),
        ("Data!A3", "replies", None),
        ("Data!A3", "*", [["x"]]),
    ],
)
def test_a_response_has_ranges_of_the_state_after_the_updates(
    bench: Bench, text: str, fields: str, rows: object
) -> None:
    """Open ends reach the end of the grid; with a mask, the mask alone asks for grid data."""
    bench.update("Data!A1", [["a"], [""], ["b"]])
    body = {
        "requests": [
            {"updateCells": cells(2, ["x"], ["y"])},
        ],
        "includeSpreadsheetInResponse": True,
        "responseRanges": [text],
    }
    path = "/v4/spreadsheets/book:batchUpdate"
    answer = bench.call("POST", path, body, **({"fields": fields} if fields else {})).json()

    [sheet] = answer.get("updatedSpreadsheet", {}).get("sheets", [{}])
    assert shown(sheet) == rows


def test_a_response_range_past_the_grid_refuses_the_batch(bench: Bench) -> None:
    """The refusal names no request, and nothing is applied."""
    body = {
        "requests": [create(7)],
        "includeSpreadsheetInResponse": True,
        "responseRanges": ["Data!A6:C"],
    }
    answer = bench.call("POST", "/v4/spreadsheets/book:batchUpdate", body)

    assert answer.status_code == 400
    assert message(answer).startswith("Range (Data!A6:C) exceeds grid limits.")
    assert found(bench, by()) == []


def cells(row: int, *rows: list[str]) -> dict[str, Any]:
    """The members of an updateCells of texts."""
    return {
        "start": {"sheetId": 0, "rowIndex": row, "columnIndex": 0},
        "rows": [
            {"values": [{"userEnteredValue": {"stringValue": text}} for text in each]}
            for each in rows
        ],
        "fields": "userEnteredValue",
    }


def shown(sheet: dict[str, Any]) -> list[list[str]] | None:
    """The displayed cells of a Sheet's grid data; None without data."""
    if "data" not in sheet:
        return None
    [data] = sheet["data"]
    return [[cell["formattedValue"] for cell in row.get("values", [])] for row in data["rowData"]]
