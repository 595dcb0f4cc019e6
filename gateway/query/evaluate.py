"""Evaluate a query: the page of rows that answers it.

Rules: the order is total over every mix of types, and no cell raises an exception. An empty cell
matches no range and is last in both directions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gateway.query.field import ColumnField, Field, RowIndexField
from gateway.query.operators import OPERATORS
from gateway.query.ordering import Ordering, Term
from gateway.query.plan import PageRequest, find_page
from gateway.query.query import AllOf, AnyOf, Comparison, Condition, Negation, Query
from gateway.query.row_sets import Complement, RowSet, all_of, any_of
from gateway.table.ordered import Ranked
from gateway.table.steps import Work
from gateway.table.table import FIRST_DATA_ROW, Table
from gateway.table.view import ROW_INDEX, View

_FEW = 4
_PLANNING_STEPS = 20
"""Steps of one condition among more than a few."""

Join = Callable[[Iterable[RowSet], Ranked], RowSet]


@dataclass(frozen=True)
class Page:
    rows: Sequence[int]
    has_next: bool
    total: int | None = None
    """The number of all matching rows; None if the query does not ask for it."""


def check_fields(query: Query, view: View) -> None:
    """Raise UnknownField if `where` or `order` names a field that the view lacks."""
    for parameter, name in query.fields():
        if name != ROW_INDEX and view.find(name) is None:
            view.check_fields(parameter, [name])


def evaluate(table: Table, query: Query, view: View) -> Work[Page]:
    """The page of a query with `where` or `order`. Raises UnknownField.

    The table must have its typed rendering.
    """
    check_fields(query, view)
    request = PageRequest(query.skip, query.skip + query.limit, query.wants_total)
    rows, row_set = table.rows, None
    if query.where is not None:

        def field(name: str) -> Field:
            if name == ROW_INDEX:
                return RowIndexField(rows)
            return ColumnField(table.index(view.column(name)), rows)

        row_set = yield from _matching(query.where, field, rows)
        if row_set.least == rows.groups:
            row_set = None
    terms = (yield from _terms(table, query, view)) if query.order else (Term(rows),)
    found = yield from find_page(row_set, Ordering(terms), request)
    return Page([place + 1 for place in found.places], found.has_next, found.total)


def plain_page(table: Table, query: Query) -> Page:
    """The page of a query without `where` and `order`, in worksheet order."""
    first, rows = FIRST_DATA_ROW + query.skip, table.last_row + 1
    end = first + query.limit
    total = max(0, rows - FIRST_DATA_ROW) if query.wants_total else None
    return Page(range(min(first, rows), min(end, rows)), end < rows, total)


def _matching(condition: Condition, fields: Callable[[str], Field], rows: Ranked) -> Work[RowSet]:
    """The rows that meet a condition; `fields` finds a field by name, `rows` are all rows."""
    match condition:
        case Comparison():
            operator = OPERATORS[condition.operator]
            found = operator.lookup(fields(condition.field), condition.operands)
            return _complement(found, rows) if operator.is_negated else found
        case Negation():
            return _complement(_matching(condition.condition, fields, rows), rows)
        case AllOf() | AnyOf():
            works = (_matching(each, fields, rows) for each in condition.conditions)
            return _joined(works, all_of if isinstance(condition, AllOf) else any_of, rows)


def _complement(work: Work[RowSet], rows: Ranked) -> Work[RowSet]:
    return Complement(range(1, rows.size), (yield from work))


def _joined(works: Iterable[Work[RowSet]], join: Join, rows: Ranked) -> Work[RowSet]:
    sets: list[RowSet] = []
    for work in works:
        sets.append((yield from work))
        if len(sets) > _FEW:
            yield _PLANNING_STEPS
    return join(sets, rows)


def _terms(table: Table, query: Query, view: View) -> Work[tuple[Term, ...]]:
    """The sort terms; the last is the row number, so that no two rows are equal."""
    terms: list[Term] = []
    for term in query.order:
        if term.field == ROW_INDEX:
            terms.append(Term(table.rows, descending=term.descending))
            break
        order = yield from table.index(view.column(term.field)).order()
        terms.append(Term(order.ranked, order.empties, term.descending))
    return tuple(terms)
