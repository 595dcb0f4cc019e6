"""Cells and tables for tests of queries."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gateway.query.evaluate import Page, plain_page
from gateway.query.evaluate import evaluate as evaluate_seen
from gateway.query.query import Query
from gateway.table.header import Layout, View
from gateway.table.steps import finish
from gateway.table.table import Table, make_table


class SheetCell(NamedTuple):
    """Displayed text and typed value of a cell."""

    text: str
    value: object


BLANK = SheetCell("", "")


def text_cell(text: str) -> SheetCell:
    """Return a cell with this text as displayed text and typed value."""
    return SheetCell(text, text)


def make_sheet(columns: Mapping[str, Sequence[SheetCell]]) -> Table:
    """Return a typed table with these headers, and cells from row 2 down, without trailing
    blank cells.
    """
    cells = [[text_cell(name), *column] for name, column in columns.items()]
    displayed = [_trimmed([cell.text for cell in column]) for column in cells]
    typed = [_trimmed([cell.value for cell in column]) for column in cells]
    return finish(make_table(displayed, Layout(filled_down=False)).with_typed(typed))


def evaluate(table: Table, query: Query) -> Page:
    """Evaluate a query for a key that sees all columns."""
    return evaluate_with(table, query, table.header.whole)


def evaluate_with(table: Table, query: Query, view: View) -> Page:
    """Evaluate a query for a view, with unlimited steps."""
    if not query.needs_types:
        return plain_page(table, query)
    return finish(evaluate_seen(table, query, view))


def _trimmed(cells: Sequence[object]) -> Sequence[object]:
    end = len(cells)
    while end and cells[end - 1] in ("", None):
        end -= 1
    return cells[:end]
