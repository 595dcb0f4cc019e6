"""What holds for all kinds of batchUpdate about cells."""

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.emulator.edits.batch import edit
from gateway.emulator.edits.cell_kinds import CELL_KINDS
from gateway.emulator.grid.entered import typed
from gateway.emulator.grid.sheet import Sheet
from gateway.emulator.grid.workbook import Workbook
from gateway.emulator.protocol.message import Message
from gateway.emulator.refusal import Refusal
from gateway.emulator.resources.cell_data import NOT_KEPT
from tests.discovery_schema import document
from tests.emulator.bench import Bench, message
from tests.emulator.requests_of import Request, grid_range

ACCOUNT = "robot@example.com"
AREA = grid_range(0, 0, 2, 2)
PLACE = {"sheetId": 0, "rowIndex": 0, "columnIndex": 0}
TEXTS = ("x", "007", "1", "=A1+B2", "=1/0", "50%", "2020-01-01", "TRUE", "a b")
WRITES: dict[str, Request] = {
    "updateCells": {"rows": [{"values": [{"note": "n"}]}], "fields": "note", "start": PLACE},
    "appendCells": {"rows": [{"values": [{"note": "n"}]}], "fields": "note"},
    "repeatCell": {"range": AREA, "cell": {}, "fields": "note"},
    "setDataValidation": {"range": AREA},
    "updateBorders": {"range": AREA, "top": {"style": "SOLID"}},
    "mergeCells": {"range": AREA},
    "unmergeCells": {"range": AREA},
    "findReplace": {"find": "x", "replacement": "y", "allSheets": True},
    "copyPaste": {"source": grid_range(3, 3, 4, 4), "destination": AREA},
    "cutPaste": {"source": AREA, "destination": {"sheetId": 0, "rowIndex": 3}},
    "sortRange": {"range": AREA, "sortSpecs": [{"dimensionIndex": 0}]},
    "deleteDuplicates": {"range": AREA},
    "insertRange": {"range": AREA, "shiftDimension": "ROWS"},
    "deleteRange": {"range": AREA, "shiftDimension": "ROWS"},
    "trimWhitespace": {"range": AREA},
    "textToColumns": {"source": grid_range(0, 0, 2, 1), "delimiterType": "COMMA"},
}


@pytest.mark.parametrize("kind", CELL_KINDS)
def test_protected_cells_refuse_every_kind(bench: Bench, kind: str) -> None:
    """The owner's protection stops each write, and nothing is changed."""
    bench.update("Data!A1", [["x"]])
    protection = {"range": grid_range(0, 0, 3, 5)}
    bench.owner_edits({"addProtectedRange": {"protectedRange": protection}})
    answer = bench.edit({kind: WRITES[kind]})

    assert answer.status_code == 400
    assert "protected cell" in message(answer)
    assert bench.grid("Data") == [["x"]]


@pytest.mark.parametrize("kind", CELL_KINDS)
def test_every_kind_has_an_answer(bench: Bench, kind: str) -> None:
    """Without a protection the same requests are carried out."""
    bench.update("Data!A1", [["x"]])

    assert bench.edit({kind: WRITES[kind]}).status_code == 200


MASKS = (
    *("*", "note", "userEnteredValue", "userEnteredFormat", "dataValidation", "odd"),
    *("userEnteredFormat(borders/top,textFormat.bold)", "userEnteredFormat.padding"),
)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-1, 6),
    "number": st.floats(0, 1) | st.sampled_from([1e308, -1, 43831]),
    "boolean": st.booleans(),
    "string": st.sampled_from(["", "x", "(a)", "$1", "*", "a*", "=A1", "yyyy", "["]),
    "object": st.just({}),
}
ODD: st.SearchStrategy[Any] = st.sampled_from([None, 5, "x", [], {}, [[]], True, -1.5, {"y": 1}])


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values that are allowed, and now and then another."""
    return st.integers(0, 39).flatmap(lambda number: usual if number else ODD)


def drawn(field: Any) -> st.SearchStrategy[Any]:
    """Values of a field of Google's definition."""
    if field.get("type") == "array":
        return st.lists(drawn(field["items"]), max_size=2)
    if "$ref" in field:
        return st.deferred(lambda: schema(field["$ref"]))
    kind = LEAVES[field["type"]]
    if field.get("format") == "google-fieldmask":
        kind = st.lists(st.sampled_from(MASKS), max_size=3).map(",".join)
    elif "enum" in field:
        kind = st.sampled_from(field["enum"])
    return mostly(kind)


@cache
def schema(name: str) -> st.SearchStrategy[Any]:
    """Objects of one of Google's definitions; those that no cell keeps are not drawn."""
    fields = document()["schemas"][name]["properties"]
    kept = {key: drawn(field) for key, field in fields.items() if key not in NOT_KEPT}
    return mostly(st.fixed_dictionaries({}, optional=kept))


def requests_of(kind: str) -> st.SearchStrategy[Any]:
    """Requests of a kind that have at least what the kind cannot do without."""
    wanted = document()["schemas"]["Request"]["properties"][kind]["$ref"]
    fields = document()["schemas"][wanted]["properties"]
    some = {name: drawn(field) for name, field in fields.items()}
    usual = st.fixed_dictionaries({}, optional=some)
    return usual.map(lambda found: {kind: {**WRITES[kind], **found}})


@given(
    st.lists(st.sampled_from(TEXTS), max_size=9),
    st.lists(st.sampled_from(sorted(CELL_KINDS)).flatmap(requests_of), min_size=1, max_size=4),
)
def test_any_request_is_answered_or_refused(texts: list[str], requests: list[Any]) -> None:
    """Nothing but a refusal is raised, whatever the JSON."""
    sheet = Sheet(sheet_id=0, title="Data", row_count=5, column_count=5)
    for row in range(3):
        sheet.write(row, 0, [typed(text) for text in texts[row * 3 : row * 3 + 3]])
    workbook = Workbook(spreadsheet_id="book", title="Book", sheets=[sheet])
    body = {
        "requests": requests,
        "includeSpreadsheetInResponse": True,
        "responseIncludeGridData": True,
    }
    try:
        edit(workbook, Message(fields=body, place=""), account=ACCOUNT)
        code = 200
    except Refusal as refusal:
        code = refusal.code

    assert code in (200, 400, 501)
