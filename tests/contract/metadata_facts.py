"""Open facts about developer metadata, response ranges of a batchUpdate, and appended cells."""

import json
from collections.abc import Awaitable, Callable, Sequence

from gateway.errors import UpstreamRefusal
from tests.contract.facts import Bench, Fact
from tests.contract.metadata import (
    SPREADSHEET,
    append,
    by_id,
    cells_of,
    create,
    delete,
    found,
    new_id,
    row,
    rows_of,
)
from tests.contract.spreadsheet import Answer


def _is_refused(answer: str, _: str) -> bool:
    return answer.startswith("refused, ")


async def _used_id(bench: Bench) -> str:
    metadata_id = new_id()
    await bench.spreadsheet.edit(create(metadata_id, SPREADSHEET))
    try:
        await bench.spreadsheet.edit(create(metadata_id, SPREADSHEET))
        return "accepted"
    finally:
        await bench.spreadsheet.edit(delete(metadata_id))


async def _freed_id(bench: Bench) -> str:
    metadata_id, location = new_id(), {"sheetId": bench.sheet_id}
    await bench.spreadsheet.edit(create(metadata_id, location))
    await bench.spreadsheet.edit(delete(metadata_id), create(metadata_id, location))
    return "accepted"


async def _delete_nothing(bench: Bench) -> str:
    await bench.spreadsheet.edit(delete(new_id()))
    return "accepted"


async def _update_nothing(bench: Bench) -> str:
    update = {
        "dataFilters": [by_id(new_id())],
        "developerMetadata": {"metadataValue": "x"},
        "fields": "metadataValue",
    }
    await bench.spreadsheet.edit({"updateDeveloperMetadata": update})
    return "accepted"


async def _sort_rows(bench: Bench) -> str:
    metadata_id = new_id()
    cells = cells_of(bench.sheet_id, 0, 0, 2, 1)
    sort = {"range": cells, "sortSpecs": [{"dimensionIndex": 0, "sortOrder": "DESCENDING"}]}
    await bench.spreadsheet.edit(create(metadata_id, row(bench.sheet_id, 0)), {"sortRange": sort})
    [metadata] = await found(bench.spreadsheet, by_id(metadata_id))
    start = metadata["location"]["dimensionRange"].get("startIndex", 0)
    return f"it is at row {start + 1}"


async def _duplicate(bench: Bench) -> str:
    key = f"copied {new_id()}"
    location = {"sheetId": bench.sheet_id}
    answer = await bench.spreadsheet.edit(
        create(new_id(), location, key=key), {"duplicateSheet": {"sourceSheetId": bench.sheet_id}}
    )
    copy = answer["replies"][1]["duplicateSheet"]["properties"]["sheetId"]
    lookup = {"developerMetadataLookup": {"metadataKey": key}}
    items = await found(bench.spreadsheet, lookup)
    await bench.spreadsheet.delete_worksheets([copy])
    return f"{len(items) - 1} items are copied"


def _response(cells: str, *more: Callable[[Bench], Answer]) -> Callable[[Bench], Awaitable[str]]:
    """Return a question: is a batchUpdate with this response range answered, and applied?"""

    async def answered(bench: Bench) -> str:
        metadata_id = new_id()
        requests = [make(bench) for make in more]
        first = create(metadata_id, {"sheetId": bench.sheet_id})
        try:
            await bench.spreadsheet.edit(first, *requests, ranges=[bench.at(cells)])
            answer = "accepted"
        except UpstreamRefusal as refusal:
            answer = f"refused, {bench.without_title(refusal.google_message)!r}"
        is_applied = await found(bench.spreadsheet, by_id(metadata_id))
        return f"{answer}, {'applied' if is_applied else 'not applied'}"

    return answered


def _more_rows(bench: Bench) -> Answer:
    length = {"sheetId": bench.sheet_id, "dimension": "ROWS", "length": 3}
    return {"appendDimension": length}


def _fewer_rows(bench: Bench) -> Answer:
    return {"deleteDimension": {"range": rows_of(bench.sheet_id, 1, 2)}}


def _append_under(cell: Answer) -> Callable[[Bench], Awaitable[str]]:
    """Return a question: which row does appendCells write if row 4 has a cell like `cell`?"""

    async def written(bench: Bench) -> str:
        repeat = {
            "range": cells_of(bench.sheet_id, 3, 0, 4, 1),
            "cell": cell,
            "fields": ",".join(cell),
        }
        target = {"sheetId": bench.sheet_id}
        await bench.spreadsheet.edit({"repeatCell": repeat}, append(target, ["new"]))
        lines = await bench.spreadsheet.formulas(bench.at("A1:A"))
        return f"row {lines.index(['new']) + 1}"

    return written


async def _append_cells_growth(bench: Bench) -> str:
    before = await bench.rows()
    await bench.spreadsheet.edit(append({"sheetId": bench.sheet_id}, ["x"], ["y"], ["z"]))
    return f"{await bench.rows() - before} rows"


def _table(bench: Bench) -> tuple[str, Answer]:
    """Return the ID of a table in A1:B2, and the request that adds the table."""
    table_id = str(new_id())
    table = {
        "tableId": table_id,
        "name": f"Fact_{table_id}",
        "range": cells_of(bench.sheet_id, 0, 0, 2, 2),
    }
    return table_id, {"addTable": {"table": table}}


async def _append_to_a_full_table(bench: Bench) -> str:
    table_id, add = _table(bench)
    await bench.spreadsheet.edit(add, append({"tableId": table_id}, ["new"]))
    lines = await bench.spreadsheet.formulas(bench.at("A1:B"))
    answer = await bench.spreadsheet.described(bench.at("A1"), "sheets.tables.range")
    [table] = answer["sheets"][0]["tables"]
    return f"{json.dumps(lines)}, the table ends with row {table['range']['endRowIndex']}"


async def _delete_table(bench: Bench) -> str:
    table_id, add = _table(bench)
    await bench.spreadsheet.edit(add, {"deleteTable": {"tableId": table_id}})
    return f"the cells are {json.dumps(await bench.spreadsheet.formulas(bench.at('A1:B')))}"


async def _filter_without_cells(bench: Bench) -> str:
    body = {"dataFilters": [by_id(new_id())]}
    answer = await bench.spreadsheet.post("/values:batchGetByDataFilter", body)
    return f"{len(answer.get('valueRanges', []))} ranges"


CHECKBOX = {"dataValidation": {"condition": {"type": "BOOLEAN"}}}
FULL: Sequence[Sequence[str]] = (("a", "b"), ("1", "2"), ("below", ""))

METADATA_FACTS = (
    Fact(
        question="Metadata with the ID of other metadata is created: what happens?",
        assumed="it is refused",
        ask=_used_id,
        fits=_is_refused,
    ),
    Fact(
        question="Metadata is deleted, and its ID used again in the same batch: what happens?",
        assumed="accepted",
        ask=_freed_id,
    ),
    Fact(
        question="Metadata with an unknown ID is deleted: what happens?",
        assumed="accepted",
        ask=_delete_nothing,
    ),
    Fact(
        question="Metadata with an unknown ID is updated: what happens?",
        assumed="it is refused",
        ask=_update_nothing,
        fits=_is_refused,
    ),
    Fact(
        question="The first of two rows has metadata, and both are sorted: where is it then?",
        assumed="it is at row 1",
        ask=_sort_rows,
    ),
    Fact(
        question="A worksheet with metadata is duplicated: what of the metadata?",
        assumed="0 items are copied",
        ask=_duplicate,
    ),
    Fact(
        question="Values are read by the ID of unknown metadata: what is found?",
        assumed="0 ranges",
        ask=_filter_without_cells,
    ),
    Fact(
        question="A response range of a batchUpdate starts past the grid: what happens?",
        assumed=(
            "refused, 'Range (A3:C) exceeds grid limits. Max rows: 2, max columns: 2', not applied"
        ),
        ask=_response("A3:C"),
    ),
    Fact(
        question="A response range starts in rows that the batch appends: what happens?",
        assumed="accepted, applied",
        ask=_response("A3:ZZ", _more_rows),
    ),
    Fact(
        question="A response range starts in rows that the batch deletes: what happens?",
        assumed=(
            "refused, 'Range (A2:2000) exceeds grid limits. Max rows: 1, max columns: 2', "
            "not applied"
        ),
        ask=_response("2:2000", _fewer_rows),
    ),
    Fact(
        question="A formula that displays nothing is in row 4: where does appendCells write?",
        assumed="row 5",
        ask=_append_under({"userEnteredValue": {"formulaValue": '=""'}}),
        blank_rows=5,
    ),
    Fact(
        question="An unticked checkbox is in row 4: where does appendCells write?",
        assumed="row 5",
        ask=_append_under({**CHECKBOX, "userEnteredValue": {"boolValue": False}}),
        blank_rows=5,
    ),
    Fact(
        question="A checkbox that was never ticked is in row 4: where does appendCells write?",
        assumed="row 5",
        ask=_append_under(CHECKBOX),
        blank_rows=5,
    ),
    Fact(
        question="appendCells writes three rows to a full grid: how much does it grow?",
        assumed="3 rows",
        ask=_append_cells_growth,
    ),
    Fact(
        question="appendCells writes to a full table with a cell below it: what is there then?",
        assumed='[["a", "b"], [1, 2], ["new"], ["below"]], the table ends with row 3',
        ask=_append_to_a_full_table,
        lines=FULL,
    ),
    Fact(
        question="A table is deleted: what of its cells?",
        assumed='the cells are [[], [], ["below"]]',
        ask=_delete_table,
        lines=FULL,
    ),
)
