"""Spreadsheets for tests of formulas, and strategies for the texts of formulas."""

from hypothesis import strategies as st

from sheets_emulator.formulas.evaluate import Results
from sheets_emulator.formulas.result import CellError, Evaluated
from sheets_emulator.grid.cell import Cell, CellValue, Content, number_format
from sheets_emulator.grid.sheet import Row, Sheet
from sheets_emulator.grid.workbook import Workbook
from sheets_emulator.reply import Json

ALPHABET = "=+-*/^&%()<>,;:!'\"$#{}. \nA1b2e9RSUMEFxé\u00a0"
formula_texts = st.one_of(st.text(), st.text(alphabet=ALPHABET, max_size=40))

DATE = number_format("DATE", "yyyy-mm-dd")
DOLLARS = number_format("CURRENCY", '"$"#,##0')


def formula(text: str, number_format: Json | None = None) -> Cell:
    """A cell with a formula."""
    return Cell(formula=text, format=number_format)


def column(*contents: Content) -> list[Row]:
    """Rows of one cell, with these contents from top to bottom."""
    return [(content,) for content in contents]


def workbook(**sheets: list[Row]) -> Workbook:
    """A spreadsheet with these rows by worksheet title. A grid has at least 5 x 5 cells."""
    return Workbook(
        spreadsheet_id="book",
        title="Book",
        sheets=[
            Sheet(
                sheet_id=number,
                title=title,
                row_count=max(5, len(rows)),
                column_count=max(5, *map(len, rows)),
                rows=rows,
            )
            for number, (title, rows) in enumerate(sheets.items())
        ],
    )


def evaluated(book: Workbook, row: int, column: int) -> Evaluated:
    """The computed value of a cell of the first worksheet."""
    return Results(book).of(book.sheets[0], row, column)


def result(text: str, *others: Content) -> Evaluated:
    """The computed value of a formula in A1. `others` are in B1, C1 and so on."""
    return evaluated(workbook(Data=[(formula(text), *others)]), 0, 0)


def shown(result: Evaluated) -> CellValue:
    """The value of a result, or the text of its error."""
    return result.value.text if isinstance(result.value, CellError) else result.value
