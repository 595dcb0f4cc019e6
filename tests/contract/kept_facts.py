"""Open facts about typical sheets: inserted rows, copies, checkboxes, array formulas, tables."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gateway.errors import UpstreamRefusal
from gateway.google.sheets import Value
from tests.contract.facts import NOT_ASKED, Bench, Fact
from tests.contract.metadata import append, cells_of, new_id, rows_of
from tests.contract.place import PROTECTED
from tests.contract.spreadsheet import Answer

CHECKBOX: Answer = {"condition": {"type": "BOOLEAN"}}
DROPDOWN: Answer = {
    "condition": {"type": "ONE_OF_LIST", "values": [{"userEnteredValue": "new"}]},
    "strict": True,
}
FOOTER: Answer = {"footerColorStyle": {"themeColor": "ACCENT1"}}
DATED: Sequence[Sequence[Value]] = (("when", "cost"), ("2026-01-05", "$5"))
TABLED: Sequence[Sequence[Value]] = (*DATED, ("Total", "=SUM(B2:B2)"), ("below", None))
TAIL = '=IF(B3="","",B3&"!")'
ARRAY = '=ARRAYFORMULA(IF(A2:A="",{},"x"&A2:A))'

Ask = Callable[[Bench], Awaitable[str]]


def _inserted(bench: Bench, start: int, *, is_from_before: bool = True) -> Answer:
    """Request that inserts a row at the index `start`, counted from 0."""
    range_ = rows_of(bench.sheet_id, start, start + 1)
    return {"insertDimension": {"range": range_, "inheritFromBefore": is_from_before}}


def _ruled(bench: Bench, top: int, bottom: int, rule: Answer) -> Answer:
    """Request that sets a data validation rule for cells of the first column."""
    cells = cells_of(bench.sheet_id, top, 0, bottom, 1)
    return {"setDataValidation": {"range": cells, "rule": rule}}


def _copied(bench: Bench, source: Sequence[int], target: Sequence[int], kind: str) -> Answer:
    """A copyPaste request; a range is (top, left, bottom, right)."""
    top, left, bottom, right = source
    other_top, other_left, other_bottom, other_right = target
    ranges = {
        "source": cells_of(bench.sheet_id, top, left, bottom, right),
        "destination": cells_of(bench.sheet_id, other_top, other_left, other_bottom, other_right),
    }
    return {"copyPaste": {**ranges, "pasteType": kind}}


async def _cell(bench: Bench, cell: str) -> dict[str, Any]:
    """The CellData of a cell."""
    answer = await bench.spreadsheet.described(bench.at(cell), "sheets.data.rowData.values")
    data = answer["sheets"][0].get("data", [{}])[0]
    [row, *_] = data.get("rowData") or [{}]
    [found, *_] = row.get("values") or [{}]
    return dict(found)


async def _format(bench: Bench, cell: str) -> str:
    """The number format of a cell."""
    look = (await _cell(bench, cell)).get("userEnteredFormat", {})
    return str(look.get("numberFormat", {}).get("type", "no number format"))


async def _rule(bench: Bench, cell: str) -> str:
    """Type of the condition of a cell's data validation rule."""
    rule = (await _cell(bench, cell)).get("dataValidation", {})
    return str(rule.get("condition", {}).get("type", "no rule"))


async def _readings(bench: Bench, cells: str) -> str:
    """Return the values of a range as JSON, formatted and unformatted."""
    texts = await bench.spreadsheet.values(bench.at(cells), "FORMATTED_VALUE")
    values = await bench.spreadsheet.values(bench.at(cells), "UNFORMATTED_VALUE")
    return f"{json.dumps(texts)} and {json.dumps(values)}"


def _format_of_inserted_row(*, is_from_before: bool) -> Ask:
    async def inherited(bench: Bench) -> str:
        start = 2 if is_from_before else 1
        await bench.spreadsheet.edit(_inserted(bench, start, is_from_before=is_from_before))
        return await _format(bench, f"A{start + 1}")

    return inherited


def _rule_of_inserted_row(rule: Answer) -> Ask:
    async def inherited(bench: Bench) -> str:
        await bench.spreadsheet.edit(_ruled(bench, 1, 2, rule), _inserted(bench, 2))
        return f"{await _rule(bench, 'A3')}, read as {await _readings(bench, 'A3')}"

    return inherited


async def _appended_dimension(bench: Bench) -> str:
    length = {"sheetId": bench.sheet_id, "dimension": "ROWS", "length": 1}
    await bench.spreadsheet.edit(_ruled(bench, 1, 2, DROPDOWN), {"appendDimension": length})
    return f"{await _rule(bench, 'A3')}, {await _format(bench, 'A3')}"


async def _appended_values(bench: Bench) -> str:
    await bench.spreadsheet.edit(_ruled(bench, 1, 2, DROPDOWN))
    written = await bench.append("A1", [[46030]], "INSERT_ROWS")
    return f"written at {written}, {await _rule(bench, 'A3')}, {await _format(bench, 'A3')}"


async def _boolean_column(bench: Bench) -> str:
    table = {
        "tableId": str(new_id()),
        "name": f"Fact_{new_id()}",
        "range": cells_of(bench.sheet_id, 0, 0, 2, 2),
        "columnProperties": [
            {"columnIndex": 0, "columnName": "done", "columnType": "BOOLEAN"},
            {"columnIndex": 1, "columnName": "b", "columnType": "TEXT"},
        ],
    }
    await bench.spreadsheet.edit({"addTable": {"table": table}})
    return f"{await _rule(bench, 'A2')}, read as {await _readings(bench, 'A2')}"


async def _grown_grid(bench: Bench) -> str:
    target = {"sheetId": bench.sheet_id}
    await bench.spreadsheet.edit(_ruled(bench, 1, 2, DROPDOWN), append(target, ["new"]))
    return f"{await _rule(bench, 'A3')}, {await _format(bench, 'A3')}"


async def _pasted_formulas(bench: Bench) -> str:
    pasted = _copied(bench, (0, 0, 1, 4), (1, 0, 3, 4), "PASTE_FORMULA")
    await bench.spreadsheet.edit(pasted)
    return json.dumps(await bench.spreadsheet.formulas(bench.at("A2:D3")))


async def _formulas_into_inserted_rows(bench: Bench) -> str:
    pasted = _copied(bench, (3, 1, 4, 2), (2, 1, 3, 2), "PASTE_FORMULA")
    await bench.spreadsheet.edit(_inserted(bench, 2), pasted)
    return json.dumps(await bench.spreadsheet.formulas(bench.at("B2:B4")))


def _rules_copied(bench: Bench, row: int, target: int) -> Answer:
    """Request that copies the data validation rules of row index `row` to row index `target`."""
    places = {
        name: {"sheetId": bench.sheet_id, "startRowIndex": at, "endRowIndex": at + 1}
        for name, at in (("source", row), ("destination", target))
    }
    return {"copyPaste": {**places, "pasteType": "PASTE_DATA_VALIDATION"}}


async def _record_above_a_filled_row(bench: Bench) -> str:
    """Insert a row, write it, and copy the rules and formula of the row below."""
    blank: Answer = {"userEnteredValue": {"stringValue": "b"}}
    start = {"sheetId": bench.sheet_id, "rowIndex": 2, "columnIndex": 0}
    update = {"start": start, "rows": [{"values": [{}, blank]}], "fields": "userEnteredValue"}
    await bench.spreadsheet.edit(
        _ruled(bench, 2, 3, CHECKBOX),
        _inserted(bench, 2),
        {"updateCells": update},
        _rules_copied(bench, 3, 2),
        _copied(bench, (3, 2, 4, 3), (2, 2, 3, 3), "PASTE_FORMULA"),
    )
    return f"{await _rule(bench, 'A3')}, read as {await _readings(bench, 'A3:C4')}"


async def _copied_from_below_the_grid(bench: Bench) -> str:
    try:
        await bench.spreadsheet.edit(_rules_copied(bench, 900_000, 1))
    except UpstreamRefusal as refusal:
        return "refused" if "Invalid requests[0]" in refusal.google_message else "refused unnamed"
    return "accepted"


def _kept_by_paste(kind: str) -> Ask:
    """Format and rule of a currency cell with a dropdown after a date with a checkbox is pasted."""

    async def kept(bench: Bench) -> str:
        cells = cells_of(bench.sheet_id, 1, 1, 2, 2)
        await bench.spreadsheet.edit(
            _ruled(bench, 1, 2, CHECKBOX),
            {"setDataValidation": {"range": cells, "rule": DROPDOWN}},
            _copied(bench, (1, 0, 2, 1), (1, 1, 2, 2), kind),
        )
        return f"{await _format(bench, 'B2')}, {await _rule(bench, 'B2')}"

    return kept


async def _untouched_checkbox(bench: Bench) -> str:
    await bench.spreadsheet.edit(_ruled(bench, 1, 2, CHECKBOX))
    entered = "userEnteredValue" in await _cell(bench, "A2")
    return f"{await _readings(bench, 'A2')}, {'entered' if entered else 'not entered'}"


async def _cleared_checkbox(bench: Bench) -> str:
    await bench.spreadsheet.edit(_ruled(bench, 1, 2, CHECKBOX))
    await bench.spreadsheet.update(bench.at("A2"), [[True]])
    await bench.spreadsheet.update(bench.at("A2"), [[""]])
    return await _readings(bench, "A2")


async def _append_under_checkboxes(bench: Bench) -> str:
    await bench.spreadsheet.edit(_ruled(bench, 1, 4, CHECKBOX))
    return "written at " + await bench.append("A1", [["new"]], "INSERT_ROWS")


async def _outside_of_a_dropdown(bench: Bench) -> str:
    await bench.spreadsheet.edit(_ruled(bench, 1, 2, DROPDOWN))
    await bench.spreadsheet.update(bench.at("A2"), [["old"]])
    return await _readings(bench, "A2")


async def _formulas_of_nothing(bench: Bench) -> str:
    return await _readings(bench, "A2:B3")


async def _filled_cell(bench: Bench) -> str:
    formulas = await bench.spreadsheet.formulas(bench.at("B3"))
    entered = "userEnteredValue" in await _cell(bench, "B3")
    return f"{json.dumps(formulas)}, {'entered' if entered else 'not entered'}"


async def _append_under_an_array(bench: Bench) -> str:
    await bench.spreadsheet.edit(append({"sheetId": bench.sheet_id}, ["new"]))
    lines = await bench.spreadsheet.formulas(bench.at("A1:A"))
    return f"row {lines.index(['new']) + 1}"


async def _array_in_the_way(bench: Bench) -> str:
    await bench.spreadsheet.update(bench.at("B3"), [["mine"]])
    value = (await _cell(bench, "B2")).get("effectiveValue", {})
    return str(value.get("errorValue", {}).get("message", "no error"))


async def _formulas_in_a_shifted_range(bench: Bench) -> str:
    request = {"range": cells_of(bench.sheet_id, 0, 0, 1, 1), "shiftDimension": "ROWS"}
    await bench.spreadsheet.edit({"insertRange": request})
    return json.dumps(await bench.spreadsheet.formulas(bench.at("B1:B2")))


def _with_table(*requests: Callable[[Bench, Answer], Answer], rows: int = 3) -> Ask:
    """Edit a table whose totals row is row 3; returns column A and the last row of the table."""

    async def edited(bench: Bench) -> str:
        table: Answer = {
            "tableId": str(new_id()),
            "range": cells_of(bench.sheet_id, 0, 0, rows, 2),
            "rowsProperties": FOOTER,
        }
        table["name"] = f"Fact_{table['tableId']}"
        made = [make(bench, table) for make in requests]
        await bench.spreadsheet.edit({"addTable": {"table": table}}, *made)
        lines = await bench.spreadsheet.formulas(bench.at("A1:A"))
        answer = await bench.spreadsheet.described(bench.at("A1"), "sheets.tables.range")
        [found] = answer["sheets"][0]["tables"]
        names = [line[0] if line else "" for line in lines]
        return f"{json.dumps(names)}, the table ends with row {found['range']['endRowIndex']}"

    return edited


def _into_table(_: Bench, table: Answer) -> Answer:
    return append({"tableId": table["tableId"]}, ["new"])


def _into_table_again(_: Bench, table: Answer) -> Answer:
    return append({"tableId": table["tableId"]}, ["newer"])


def _into_no_table(_: Bench, __: Answer) -> Answer:
    return append({"tableId": "no-table"}, ["new"])


async def _beside_a_table(bench: Bench) -> str:
    await _with_table(_into_table)(bench)
    lines = await bench.spreadsheet.formulas(bench.at("C1:C"))
    return json.dumps([line[0] if line else "" for line in lines])


def _into_sheet(bench: Bench, _: Answer) -> Answer:
    return append({"sheetId": bench.sheet_id}, ["new"])


def _above_totals(bench: Bench, _: Answer) -> Answer:
    return _inserted(bench, 2)


def _below_totals(bench: Bench, _: Answer) -> Answer:
    return _inserted(bench, 3)


def _checkboxes_in_body(bench: Bench, _: Answer) -> Answer:
    return _ruled(bench, 2, 4, CHECKBOX)


async def _format_in_table(bench: Bench) -> str:
    await _with_table(_into_table)(bench)
    return await _format(bench, "A3")


async def _values_under_a_table(bench: Bench) -> str:
    table = {
        "tableId": str(new_id()),
        "name": f"Fact_{new_id()}",
        "range": cells_of(bench.sheet_id, 0, 0, 2, 2),
    }
    await bench.spreadsheet.edit({"addTable": {"table": table}})
    written = await bench.append("A1", [["x", "y"]], "INSERT_ROWS")
    answer = await bench.spreadsheet.described(bench.at("A1"), "sheets.tables.range")
    [found] = answer["sheets"][0]["tables"]
    return f"written at {written}, the table ends with row {found['range']['endRowIndex']}"


async def _beside_protected_rows(bench: Bench) -> str:
    """Insert a row before each of the rows 2 to 4, where rows 2 and 3 are protected."""
    listed = await bench.spreadsheet.sheets().list_worksheets(bench.spreadsheet.id)
    ids = [each.sheet_id for each in listed if each.title == PROTECTED]
    if not ids:
        return f"{NOT_ASKED}there is no worksheet {PROTECTED!r} with protected rows 2 and 3"
    outcomes = []
    for start in (1, 2, 3):
        range_ = rows_of(ids[0], start, start + 1)
        try:
            await bench.spreadsheet.edit(
                {"insertDimension": {"range": range_, "inheritFromBefore": True}},
                {"deleteDimension": {"range": range_}},
            )
            outcomes.append("accepted")
        except UpstreamRefusal:
            outcomes.append("refused")
    return ", ".join(outcomes)


KEPT_FACTS = (
    Fact(
        question="A row is inserted below a date, as the row before: which format has it?",
        assumed="DATE",
        ask=_format_of_inserted_row(is_from_before=True),
        lines=DATED,
        blank_rows=1,
    ),
    Fact(
        question="A row is inserted above a date, as the row after: which format has it?",
        assumed="DATE",
        ask=_format_of_inserted_row(is_from_before=False),
        lines=DATED,
    ),
    Fact(
        question="A row is inserted below a checkbox, as the row before: what is there?",
        assumed='BOOLEAN, read as [["FALSE"]] and [[false]]',
        ask=_rule_of_inserted_row(CHECKBOX),
        lines=[["done"], [True]],
        blank_rows=1,
    ),
    Fact(
        question="A row is inserted below a dropdown, as the row before: what is there?",
        assumed="ONE_OF_LIST, read as [] and []",
        ask=_rule_of_inserted_row(DROPDOWN),
        lines=[["state"], ["new"]],
        blank_rows=1,
    ),
    Fact(
        question="appendDimension adds a row: has it the rule and the format of the last one?",
        assumed="ONE_OF_LIST, DATE",
        ask=_appended_dimension,
        lines=DATED,
    ),
    Fact(
        question="appendCells adds a row to a full grid: has it the rule and format of the last?",
        assumed="no rule, no number format",
        ask=_grown_grid,
        lines=DATED,
    ),
    Fact(
        question="values.append inserts a row: has it the rule and the format of the row above?",
        assumed="written at A3, ONE_OF_LIST, DATE",
        ask=_appended_values,
        lines=DATED,
        blank_rows=1,
    ),
    Fact(
        question="PASTE_FORMULA of a text, a number, a formula and a blank to rows: what is there?",
        assumed='[["x", 5, "=B2*2"], ["x", 5, "=B3*2"]]',
        ask=_pasted_formulas,
        lines=[["x", 5, "=B1*2", None], ["a", "b", "c", "d"], ["a", "b", "c", "d"]],
    ),
    Fact(
        question="PASTE_FORMULA to a row inserted in the same batch: which formulas are there?",
        assumed='[["=A2"], ["=A3"], ["=A4"]]',
        ask=_formulas_into_inserted_rows,
        lines=[["a", "b"], ["1", "=A2"], ["2", "=A3"]],
    ),
    Fact(
        question="A row is inserted, written, and gets the rule and formula below: what is there?",
        assumed='BOOLEAN, read as [["FALSE", "b", "b!"], ["FALSE", "", ""]] and '
        '[[false, "b", "b!"], [false, "", ""]]',
        ask=_record_above_a_filled_row,
        lines=[["done", "b", "c"], [True, "a", '=IF(B2="","",B2&"!")'], [None, None, TAIL]],
    ),
    Fact(
        question="A rule is copied from a row below the grid: what happens?",
        assumed="refused",
        ask=_copied_from_below_the_grid,
        lines=[["a"], ["b"]],
    ),
    Fact(
        question="PASTE_FORMULA of a date with a checkbox: which format and rule has the cell?",
        assumed="CURRENCY, ONE_OF_LIST",
        ask=_kept_by_paste("PASTE_FORMULA"),
        lines=DATED,
    ),
    Fact(
        question="PASTE_FORMAT of a date with a checkbox: which format and rule has the cell?",
        assumed="DATE, ONE_OF_LIST",
        ask=_kept_by_paste("PASTE_FORMAT"),
        lines=DATED,
    ),
    Fact(
        question="A checkbox that was never ticked: how is it read?",
        assumed='[["FALSE"]] and [[false]], not entered',
        ask=_untouched_checkbox,
        lines=[["done"]],
        blank_rows=1,
    ),
    Fact(
        question="A ticked checkbox is cleared: how is it read?",
        assumed='[["FALSE"]] and [[false]]',
        ask=_cleared_checkbox,
        lines=[["done"]],
        blank_rows=1,
    ),
    Fact(
        question="Values are appended to a header above three checkboxes: where are they written?",
        assumed="written at A5",
        ask=_append_under_checkboxes,
        lines=[["done"]],
        blank_rows=5,
    ),
    Fact(
        question="A value that a strict dropdown does not have is written: what is there?",
        assumed='[["old"]] and [["old"]]',
        ask=_outside_of_a_dropdown,
        lines=[["state"]],
        blank_rows=1,
    ),
    Fact(
        question="Formulas at the end of a row display nothing: how are they read?",
        assumed='[["x", ""], ["", ""]] and [["x", ""], ["", ""]]',
        ask=_formulas_of_nothing,
        lines=[["a", "b"], ["x", '=""'], [None, '=IF(A3="",,1)']],
    ),
    Fact(
        question="A cell that an array formula fills: what is its formula?",
        assumed='[["x2"]], not entered',
        ask=_filled_cell,
        lines=[["a", "b"], [1, ARRAY.format('""')], [2, None]],
    ),
    Fact(
        question="An array formula fills rows with empty texts: where does appendCells write?",
        assumed="row 6",
        ask=_append_under_an_array,
        lines=[["a", "b"], [1, ARRAY.format('""')]],
        blank_rows=3,
    ),
    Fact(
        question="An array formula fills rows with blanks: where does appendCells write?",
        assumed="row 3",
        ask=_append_under_an_array,
        lines=[["a", "b"], [1, ARRAY.format("")]],
        blank_rows=3,
    ),
    Fact(
        question="A value is written where an array formula fills a cell: which error has it?",
        assumed="Array result was not expanded because it would overwrite data in B3.",
        ask=_array_in_the_way,
        lines=[["a", "b"], [1, ARRAY.format('""')], [2, None]],
    ),
    Fact(
        question="A cell is inserted above A1: which references follow?",
        assumed='[["=A2"], ["=SUM(A2:A3)"]]',
        ask=_formulas_in_a_shifted_range,
        lines=[[1, "=A1"], [2, "=SUM(A1:A2)"]],
        blank_rows=1,
    ),
    Fact(
        question="appendCells writes to a table with a totals row: what is there then?",
        assumed='["when", 46027, "new", "Total", "below"], the table ends with row 4',
        ask=_with_table(_into_table),
        lines=TABLED,
    ),
    Fact(
        question="Two requests of a batch append to one table: what is there then?",
        assumed='["when", 46027, "newer", "Total", "below"], the table ends with row 4',
        ask=_with_table(_into_table, _into_table_again),
        lines=TABLED,
    ),
    Fact(
        question="appendCells writes to a table with a blank row between others: where?",
        assumed='["a", "1", "", "2", "new", "Total"], the table ends with row 6',
        ask=_with_table(_into_table, rows=5),
        lines=[["a", "b"], ["'1", None], [None, None], ["'2", None], ["Total", None]],
    ),
    Fact(
        question="appendCells inserts a row into a full table: do cells beside the table move?",
        assumed='["x", "y", "", "z"]',
        ask=_beside_a_table,
        lines=[["when", "cost", "x"], ["2026-01-05", "$5", "y"], ["Total", None, "z"]],
    ),
    Fact(
        question="appendCells names a table that does not exist: what happens?",
        assumed="refused, 'Invalid requests[1].appendCells: No table with id: no-table'",
        ask=_with_table(_into_no_table),
        lines=TABLED,
    ),
    Fact(
        question="appendCells writes below a date of a full table: which format has the row?",
        assumed="DATE",
        ask=_format_in_table,
        lines=TABLED,
    ),
    Fact(
        question="A table has blank rows with checkboxes: where does appendCells write?",
        assumed='["a", "1", false, false, "new", "Total"], the table ends with row 6',
        ask=_with_table(_checkboxes_in_body, _into_table, rows=5),
        lines=[["a", "b"], ["'1", None], [None, None], [None, None], ["Total", None]],
    ),
    Fact(
        question="appendCells writes below a table without its ID: does the table grow?",
        assumed='["when", 46027, "Total", "below", "new"], the table ends with row 3',
        ask=_with_table(_into_sheet),
        lines=TABLED,
    ),
    Fact(
        question="values.append writes below a table: does the table grow?",
        assumed="written at A3:B3, the table ends with row 2",
        ask=_values_under_a_table,
        lines=DATED,
    ),
    Fact(
        question="A table has a column of the type BOOLEAN: has a blank cell in it a checkbox?",
        assumed="no rule, read as [] and []",
        ask=_boolean_column,
        lines=[["done", "b"], [None, "x"]],
    ),
    Fact(
        question="A row is inserted above a table's totals row: is it in the table?",
        assumed='["when", 46027, "", "Total", "below"], the table ends with row 4',
        ask=_with_table(_above_totals),
        lines=TABLED,
    ),
    Fact(
        question="A row is inserted below a table's totals row: is it in the table?",
        assumed='["when", 46027, "Total", "", "below"], the table ends with row 3',
        ask=_with_table(_below_totals),
        lines=TABLED,
    ),
    Fact(
        question="Rows are inserted above, in and below two protected rows: what happens?",
        assumed="accepted, refused, accepted",
        ask=_beside_protected_rows,
    ),
)
