"""From a condition tree to the set of matching rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from gateway.query.field import Field
from gateway.query.query import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operand,
    Operator,
)
from gateway.query.row_sets import Complement, RowSet, all_of, any_of
from gateway.table.ordered import Ranked
from gateway.table.steps import Work

Lookup = Callable[[Field, Operator, Sequence[Operand]], Work[RowSet]]
_FEW = 4
_PLANNING_STEPS = 20
"""Of one condition among many."""

Join = Callable[[Iterable[RowSet], Ranked], RowSet]


def rows_meeting(
    condition: Condition, fields: Callable[[str], Field], rows: Ranked
) -> Work[RowSet]:
    """Where a condition is met; `fields` finds a field by its name, `rows` are all rows."""
    match condition:
        case Comparison():
            lookup, is_negated = _LOOKUPS[condition.operator]
            field = fields(condition.field)
            found = lookup(field, condition.operator, condition.operands)
            return _complement(found, rows) if is_negated else found
        case Negation():
            return _complement(rows_meeting(condition.condition, fields, rows), rows)
        case AllOf() | AnyOf():
            works = (rows_meeting(each, fields, rows) for each in condition.conditions)
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


def _equal(field: Field, _: Operator, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.equal(operands)


def _within(field: Field, operator: Operator, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.within(operator, operands[0])


def _containing(field: Field, _: Operator, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.containing(str(operands[0].value))


def _filled(field: Field, _: Operator, operands: Sequence[Operand]) -> Work[RowSet]:
    return field.filled(is_filled=bool(operands[0].value))


_LOOKUPS: Mapping[Operator, tuple[Lookup, bool]] = {
    "$eq": (_equal, False),
    "$ne": (_equal, True),
    "$in": (_equal, False),
    "$nin": (_equal, True),
    "$lt": (_within, False),
    "$lte": (_within, False),
    "$gt": (_within, False),
    "$gte": (_within, False),
    "$text": (_containing, False),
    "$exists": (_filled, False),
}
"""How an operator is looked up, and whether it means all other rows."""
