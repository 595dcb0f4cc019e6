"""Which rows of a table answer a query, and in which order.

Rules: a total order over every mix of types, no exception for any cell. Comparing as the
contract's *Comparison* and *Order* say: an empty cell meets no range and is last both ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.rows.field import ColumnField, Field, RowIndexField
from gateway.rows.matching import part_of
from gateway.rows.ordering import WORKSHEET_ORDER, Ordering, Term
from gateway.rows.plan import Plan, Want, make_plan
from gateway.rows.query import Query
from gateway.rows.table import FIRST_DATA_ROW, Table
from gateway.rows.view import ROW_INDEX, View


@dataclass(frozen=True)
class Page:
    """The rows of one page, by their row numbers, and whether more follow."""

    rows: Sequence[int]
    has_next: bool
    total: int | None = None
    """How many rows match in all; None if the query does not ask."""


def check_fields(query: Query, view: View) -> None:
    """UnknownField if `where` or `order` names a field that is none."""
    for parameter, name in query.fields():
        view.check_fields(parameter, [name])


def evaluate(table: Table, query: Query, view: View) -> Page:
    """The page that a query asks for, as far as its fields are seen.

    The table has its typed half if the query needs it.
    """
    if not query.needs_types:
        return plain_page(table, query)
    check_fields(query, view)
    return page_of(plan_of(table, query, view))


def plain_page(table: Table, query: Query) -> Page:
    """The page of a query that neither filters nor sorts: rows as they stand."""
    first, rows = FIRST_DATA_ROW + query.skip, table.last_row + 1
    end = first + query.limit
    total = max(0, rows - FIRST_DATA_ROW) if query.wants_total else None
    return Page(range(min(first, rows), min(end, rows)), end < rows, total)


def page_of(plan: Plan) -> Page:
    """The page that comes of a plan."""
    found = plan.run()
    return Page([place + 1 for place in found.places], found.has_next, found.total)


def plan_of(table: Table, query: Query, view: View) -> Plan:
    """How a query whose fields exist would be answered; makes what it needs of the columns."""
    whole = table.places
    want = Want(query.skip, query.skip + query.limit, query.wants_total)
    ordering = _ordering(table, query, view, whole)
    if query.where is None:
        return make_plan(None, ordering, want)

    def field(name: str) -> Field:
        if name == ROW_INDEX:
            return RowIndexField(whole)
        return ColumnField(table.index(view.column(name)), whole)

    return make_plan(part_of(query.where, field, whole), ordering, want)


def _ordering(table: Table, query: Query, view: View, whole: range) -> Ordering:
    terms: list[Term] = []
    for term in query.order:
        is_row = term.field == ROW_INDEX
        index = None if is_row else table.index(view.column(term.field))
        terms.append(Term(index, term.descending))
        if is_row:
            break
    return Ordering(tuple(terms) or (WORKSHEET_ORDER,), whole)
