"""Which rows of a table answer a query, and in which order.

Rules: a total order over every mix of types, no exception for any cell. Comparing as the
contract's *Comparison* and *Order* say: an empty cell meets no range and is last both ways.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.errors import InvalidQuery
from gateway.rows.field import ColumnField, Field, RowIndexField
from gateway.rows.header import ROW_INDEX, Header
from gateway.rows.matching import part_of
from gateway.rows.ordering import WORKSHEET_ORDER, Ordering, Term
from gateway.rows.plan import Plan, Want, make_plan
from gateway.rows.query import Query
from gateway.rows.table import Table


@dataclass(frozen=True)
class Page:
    """The rows of one page, by their row numbers, and whether more follow."""

    rows: Sequence[int]
    has_next: bool
    total: int | None = None
    """How many rows match in all; None if the query does not ask."""


def check_fields(query: Query, header: Header) -> None:
    """InvalidQuery naming the headers if `where` or `order` names a field that is none."""
    for parameter, name in query.fields():
        if name != ROW_INDEX and header.find(name) is None:
            raise InvalidQuery(
                f'{parameter} names "{name}", which is no field of this worksheet; '
                f"its fields are rowIndex, {header.listing()}."
            )


def evaluate(table: Table, query: Query) -> Page:
    """The page that a query asks for; the table has its typed half if the query needs it."""
    check_fields(query, table.header)
    return page_of(plan_of(table, query))


def page_of(plan: Plan) -> Page:
    """The page that comes of a plan."""
    found = plan.run()
    return Page([place + 1 for place in found.places], found.has_next, found.total)


def plan_of(table: Table, query: Query) -> Plan:
    """How a query whose fields exist would be answered; makes what it needs of the columns."""
    whole = table.places
    want = Want(query.skip, query.skip + query.limit, query.wants_total)
    ordering = _ordering(table, query, whole)
    if query.where is None:
        return make_plan(None, ordering, want)

    def field(name: str) -> Field:
        if name == ROW_INDEX:
            return RowIndexField(whole)
        return ColumnField(table.index(name), whole)

    return make_plan(part_of(query.where, field, whole), ordering, want)


def _ordering(table: Table, query: Query, whole: range) -> Ordering:
    terms: list[Term] = []
    for term in query.order:
        is_row = term.field == ROW_INDEX
        terms.append(Term(None if is_row else table.index(term.field), term.descending))
        if is_row:
            break
    return Ordering(tuple(terms) or (WORKSHEET_ORDER,), whole)
