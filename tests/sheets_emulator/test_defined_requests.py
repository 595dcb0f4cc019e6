"""Requests that Google's definition allows or does not allow, sent to the emulator."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from hypothesis import given, settings
from hypothesis import strategies as st

from sheets_emulator.app import EmulatorOptions
from tests.discovery import all_problems
from tests.discovery_schema import document
from tests.sheets_emulator.bench import Bench, build_bench, write_seed
from tests.sheets_emulator.valid_body import Body, spoiled_bodies, valid_bodies

BATCH = "BatchUpdateSpreadsheetRequest"
BATCH_PATH = "/v4/spreadsheets/book:batchUpdate"
CREATE_PATH = "/v4/spreadsheets"
KINDS = sorted(document()["schemas"]["Request"]["properties"])
BAD_NAME = "Invalid JSON payload received. Unknown name"
BAD_TYPE = "Invalid value at"
ONE_OF = "(oneof)"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An emulator with some values. Its exchanges must conform to Google's definition."""
    folder: Path = tmp_path_factory.mktemp("defined")
    seed = write_seed(folder / "seed", {"book/Data.csv": "a,1,=B1\nb,2,\n,,\n"})
    built = build_bench(folder, EmulatorOptions(seed=seed))
    with built.client:
        yield built


def send(bench: Bench, path: str, body: object) -> Response:
    """The answer to a POST after a reset. Fails if the exchange violates Google's definition."""
    bench.client.post("/_emulator/reset")
    answer = bench.call("POST", path, body)
    found = all_problems(bench.recorder.take())
    assert found == []
    return answer


def is_of_definition(answer: Response) -> bool:
    """True if the answer is a 400 about an unknown name or a wrong type."""
    text = answer.json()["error"]["message"] if answer.status_code == 400 else ""
    return text.startswith((BAD_NAME, BAD_TYPE)) and ONE_OF not in text


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4)
@given(data=st.data())
def test_a_mistake_in_a_request_of_any_kind_gets_400(
    bench: Bench, kind: str, data: st.DataObject
) -> None:
    """One wrong name or type in a request of any kind gets 400, also in unsupported kinds."""
    body = data.draw(spoiled_bodies(BATCH, "requests", kind))
    answer = send(bench, BATCH_PATH, body)

    assert answer.status_code == 400
    assert is_of_definition(answer)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4)
@given(data=st.data())
def test_all_names_of_googles_definition_are_known(
    bench: Bench, kind: str, data: st.DataObject
) -> None:
    """A valid request never gets an error about an unknown name or a wrong type."""
    body: Body = data.draw(valid_bodies(BATCH, "requests", kind))
    answer = send(bench, BATCH_PATH, body.value)

    assert answer.status_code in (200, 400, 501)
    assert not is_of_definition(answer), answer.text


@settings(max_examples=60)
@given(data=st.data())
def test_spreadsheets_are_created_as_defined(bench: Bench, data: st.DataObject) -> None:
    """spreadsheets.create accepts all valid names and types, and rejects invalid ones."""
    body: Body = data.draw(valid_bodies("Spreadsheet"))
    right = send(bench, CREATE_PATH, body.value)
    wrong = send(bench, CREATE_PATH, data.draw(spoiled_bodies("Spreadsheet")))

    assert right.status_code in (200, 400, 501)
    assert not is_of_definition(right), right.text
    assert is_of_definition(wrong)


@pytest.mark.parametrize(
    ("request_", "wrong"),
    [
        pytest.param(
            {"updateSheetProperties": {"properties": {"nope": 1}, "fields": "title"}},
            "nope",
            id="properties",
        ),
        pytest.param(
            {
                "updateSheetProperties": {
                    "properties": {"title": "x", "gridProperties": {"nope": None}},
                    "fields": "title",
                }
            },
            "nope",
            id="null in the grid's properties",
        ),
        pytest.param(
            {"updateSpreadsheetProperties": {"properties": {"nope": 1}, "fields": "title"}},
            "nope",
            id="properties of the spreadsheet",
        ),
        pytest.param(
            {"addProtectedRange": {"protectedRange": {"range": {}, "requestingUserCanEdit": "x"}}},
            "requesting_user_can_edit",
            id="what only Google sets",
        ),
        pytest.param(
            {"addProtectedRange": {"protectedRange": {"range": {}, "editors": {"nope": []}}}},
            "nope",
            id="editors",
        ),
        pytest.param(
            {"addProtectedRange": {"protectedRange": {"range": {}, "editors": {"groups": 1.5}}}},
            "editors.groups",
            id="groups",
        ),
        pytest.param({"addSheet": {}, "nope": None}, "nope", id="null beside a kind"),
        pytest.param({"addChart": {"nope": 1}}, "nope", id="in a kind that is not covered"),
    ],
)
def test_a_member_without_effect_is_validated(
    bench: Bench, request_: dict[str, Any], wrong: str
) -> None:
    """A wrong name or type gets 400, also in a member that has no effect."""
    answer = send(bench, BATCH_PATH, {"requests": [request_]})

    assert answer.status_code == 400
    assert wrong in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"addSheet": {"properties": {"sheetId": "7"}}}, id="number as text"),
        pytest.param({"add_sheet": {"properties": {"sheet_id": 7}}}, id="snake_case"),
        pytest.param({"addSheet": {"properties": {"sheetId": 7.0, "title": None}}}, id="null"),
    ],
)
def test_all_json_forms_have_the_same_effect(bench: Bench, request_: dict[str, Any]) -> None:
    """Numbers as texts, snake_case names and null are accepted in addSheet."""
    answer = send(bench, BATCH_PATH, {"requests": [request_]})
    added = answer.json()["replies"][0]["addSheet"]["properties"]

    assert (added["sheetId"], added["title"]) == (7, "Sheet2")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(
            BATCH_PATH,
            {"requests": [{"addSheet": {}}], "commentsViewMode": "COMMENTS_VIEW_MODE_OMITTED"},
            id="comments of a batch",
        ),
        pytest.param(CREATE_PATH, {"spreadsheetId": "x", "spreadsheetUrl": "y"}, id="output"),
        pytest.param(CREATE_PATH, {"dataSourceSchedules": [{}]}, id="schedules"),
        pytest.param(CREATE_PATH, {"namedRanges": []}, id="no named ranges"),
    ],
)
def test_members_without_meaning_for_the_emulator_are_ignored(
    bench: Bench, path: str, body: Any
) -> None:
    """Members about comments and members that only Google sets are ignored."""
    assert send(bench, path, body).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(CREATE_PATH, {"developerMetadata": [{"metadataKey": "k"}]}, id="metadata"),
        pytest.param(CREATE_PATH, {"dataSources": [{}]}, id="data sources"),
        pytest.param(CREATE_PATH, {"comments": [{}]}, id="comments"),
        pytest.param(
            BATCH_PATH,
            {"requests": [{"addSheet": {"properties": {"sheetType": "DATA_SOURCE"}}}]},
            id="type of a worksheet",
        ),
        pytest.param(BATCH_PATH, {"requests": [{"addBanding": {}}]}, id="kind"),
    ],
)
def test_unsupported_members_get_501(bench: Bench, path: str, body: Any) -> None:
    """An unsupported member of a request gets 501 and is not ignored."""
    assert send(bench, path, body).status_code == 501


@pytest.mark.parametrize(
    "mask",
    [
        *(
            "comments.status",
            "commentsViewMode",
            "sheets.commentAnchors.range",
            "sheets.tables.name",
        ),
        *(
            "spreadsheet_id",
            "sheets.charts.spec.title",
            "sheets/conditionalFormats(ranges(sheetId))",
        ),
        "sheets.basicFilter.criteria.x",
    ],
)
def test_a_mask_can_name_all_fields_of_googles_definition(bench: Bench, mask: str) -> None:
    """A mask can name fields at any depth, also fields that the emulator never answers."""
    answer = bench.call("GET", "/v4/spreadsheets/book", fields=mask)

    assert answer.status_code == 200
    assert all_problems(bench.recorder.take()) == []


def test_a_mask_of_a_batch_can_name_the_state_of_comments(bench: Bench) -> None:
    """`commentUpdateState` is accepted in the mask of a batchUpdate, but never answered."""
    body: dict[str, Any] = {"requests": [{"addSheet": {}}]}
    answer = bench.call("POST", BATCH_PATH, body, fields="commentUpdateState,spreadsheetId")

    assert answer.json() == {"spreadsheetId": "book"}
    assert all_problems(bench.recorder.take()) == []


@pytest.mark.parametrize(
    "mask",
    [
        *("sheets.sheetProperties", "sheets.properties.title.x", "sheets.charts.spec.nope"),
        *("sheets.conditionalFormats.ranges.sheet", "spreadsheetId.x", "comments.nope"),
    ],
)
def test_a_mask_with_an_unknown_field_gets_400(bench: Bench, mask: str) -> None:
    """A mask with a field that Google does not have gets 400, at any depth."""
    answer = bench.call("GET", "/v4/spreadsheets/book", fields=mask)
    bench.recorder.take()

    assert answer.status_code == 400


def test_a_get_with_a_body_gets_400(bench: Bench) -> None:
    """A GET with a body gets 400, as from Google."""
    answer = bench.call("GET", "/v4/spreadsheets/book", {})

    assert answer.status_code == 400
    assert all_problems(bench.recorder.take()) == []
