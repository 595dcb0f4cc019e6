"""How much a query has to walk, told before it is answered, so that a thread may answer it.

Rules: an estimate, made in time that does not grow with the worksheet. It names what a query would
build exactly as `field` and `ordering` go about it; a test holds the two together.
"""

from collections.abc import Iterable, Iterator, Mapping

from gateway.rows.evaluate import Page, check_fields, page_of, plain_page, plan_of
from gateway.rows.index import ColumnIndex
from gateway.rows.kept import is_kept
from gateway.rows.kinds import NUMBER
from gateway.rows.parts import (
    STEPS_OF_BISECT,
    Both,
    Either,
    Hits,
    Outside,
    Part,
    Span,
    parts_of,
)
from gateway.rows.plan import Plan, share_of
from gateway.rows.query import AllOf, AnyOf, Comparison, Condition, Negation, Operand, Query
from gateway.rows.table import Table
from gateway.rows.view import ROW_INDEX, View

_WALKS: Mapping[str, int] = {
    "empties": 2,
    "numbers": 6,
    "words": 8,
    "dates": 6,
    "alike": 3,
    "truths": 4,
    "folded": 2,
    "order": 8,
}
"""How often making a structure of a column walks it, a sort counted by what it takes."""


def work(table: Table, query: Query, view: View) -> int:
    """About how many cells answering a query walks now, a cell being 0.1 µs or less.

    The table has its typed half if the query needs it, and the fields of the query. Rows are
    taken to be spread evenly: a walk in an order that a condition goes against takes longer.
    """
    return _building(table, query, view) or _planned(plan_of(table, query, view))


def evaluate_within(table: Table, query: Query, view: View, cells: int) -> Page | None:
    """The page, or None if finding it would walk more than so many cells: then in a thread."""
    if not query.needs_types:
        return plain_page(table, query)
    check_fields(query, view)
    if _building(table, query, view) > cells:
        return None
    plan = plan_of(table, query, view)
    return None if _planned(plan) > cells else page_of(plan)


def _building(table: Table, query: Query, view: View) -> int:
    """What making the structures walks that the query needs and that are not there yet."""
    missing: set[tuple[ColumnIndex, str]] = set()
    for term in query.order:
        if term.field == ROW_INDEX:
            break
        _add_missing(missing, table.index(view.column(term.field)), ("order",))
    if query.where is not None:
        _add_missing_of_condition(missing, table, query.where, view)
    building = sum(_WALKS[structure] * index.size for index, structure in missing)
    return building or _reversing(table, query, view)


def _add_missing(
    missing: set[tuple[ColumnIndex, str]], index: ColumnIndex, structures: Iterable[str]
) -> None:
    for structure in structures:
        if not is_kept(index, structure):
            missing.add((index, structure))


def _add_missing_of_condition(
    missing: set[tuple[ColumnIndex, str]], table: Table, condition: Condition, view: View
) -> None:
    match condition:
        case Comparison():
            if condition.field != ROW_INDEX:
                index = table.index(view.column(condition.field))
                _add_missing(missing, index, _structures(index, condition))
        case Negation():
            _add_missing_of_condition(missing, table, condition.condition, view)
        case AllOf() | AnyOf():
            for part in condition.conditions:
                _add_missing_of_condition(missing, table, part, view)


def _reversing(table: Table, query: Query, view: View) -> int:
    """What it walks to turn the order of the first term round, if that has not been done yet."""
    term = query.order[0] if query.order else None
    if term is None or not term.descending or term.field == ROW_INDEX:
        return 0
    index = table.index(view.column(term.field))
    return 0 if is_kept(index.order.ranked, "descending") else index.size


def _structures(index: ColumnIndex, comparison: Comparison) -> Iterable[str]:
    """What `field` looks into to compare a column."""
    match comparison.operator:
        case "$lt" | "$lte" | "$gt" | "$gte":
            return _structures_of_range(comparison.operands[0])
        case "$text":
            return ("folded",) if comparison.operands[0].value else ()
        case "$exists":
            return ("empties",)
        case _:
            return [
                structure
                for operand in comparison.operands
                for structure in _structures_of_equality(index, operand)
            ]


def _structures_of_range(operand: Operand) -> Iterable[str]:
    if operand.value is None or operand.value == "":
        return ()
    if isinstance(operand.value, bool):
        return ("truths",)
    if operand.number is not None:
        return ("numbers",)
    return ("words",) if operand.serial is None else ("words", "dates")


def _structures_of_equality(index: ColumnIndex, operand: Operand) -> Iterable[str]:
    if operand.value is None or operand.value == "":
        return ("empties",)
    if isinstance(operand.value, bool):
        return ("truths",)
    if not isinstance(operand.value, str):
        return ("numbers",)
    if operand.number is not None:  # no text is both a number and a date
        may_be_spelled = not is_kept(index, "kinds") or index.kinds.has(NUMBER)
        return ("alike", "numbers") if may_be_spelled else ("alike",)
    return ("alike",) if operand.serial is None else ("alike", "dates")


def _planned(plan: Plan) -> int:
    """What the plan walks, everything it needs being there but ranks."""
    if plan.is_cut:
        return plan.want.end - plan.want.skip
    ordering, whole = plan.ordering, len(plan.ordering.whole)
    if plan.is_walk or plan.part is None:
        parts, places = plan.rest, plan.expected_steps
    else:
        parts, places = parts_of(plan.part)[1:], plan.gathering
    ranked = {leaf.ranked for leaf in _leaves(parts) if isinstance(leaf, Span)}
    if ordering.has_ties or not plan.is_walk:
        ranked |= {term.index.order.ranked for term in ordering.terms if term.index is not None}
    ranking = sum(2 * each.size for each in ranked if not is_kept(each, "ranks"))
    return ranking + _sifting(parts, places, whole)


def _sifting(parts: Iterable[Part], places: float, whole: int) -> int:
    """What sifting places by several parts walks, one after the other."""
    walked = places
    for part in parts:
        leaves = list(_leaves([part]))
        one_by_one = sum(_looking_up(leaf, places) for leaf in leaves)
        gathered = places + sum(leaf.count for leaf in leaves)
        walked += min(one_by_one, gathered) if len(leaves) > 1 else one_by_one
        places *= share_of([part], whole)
    return int(walked)


def _looking_up(leaf: Part, places: float) -> float:
    """A part that was looked up is put into a set first, unless few places are asked for."""
    return places + min(leaf.count, STEPS_OF_BISECT * places) if isinstance(leaf, Hits) else places


def _leaves(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts that combinations are made of."""
    for part in parts:
        if isinstance(part, Both | Either):
            yield from _leaves(part.parts)
        elif isinstance(part, Outside):
            yield from _leaves([part.part])
        else:
            yield part
