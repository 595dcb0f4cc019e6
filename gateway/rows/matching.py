"""From the conditions of a query to the part of the rows that meet them."""

from collections.abc import Callable, Mapping, Sequence

from gateway.rows.field import Field
from gateway.rows.parts import Outside, Part, all_of, any_of
from gateway.rows.query import (
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Negation,
    Operand,
    Operator,
)

Lookup = Callable[[Field, Operator, Sequence[Operand], range], Part]


def part_of(condition: Condition, fields: Callable[[str], Field], whole: range) -> Part:
    """Where a condition is met; `fields` finds a field by its name, `whole` is all places."""
    match condition:
        case Comparison():
            field = fields(condition.field)
            return _LOOKUPS[condition.operator](
                field, condition.operator, condition.operands, whole
            )
        case Negation():
            return Outside(whole, part_of(condition.condition, fields, whole))
        case AllOf():
            return all_of((part_of(each, fields, whole) for each in condition.conditions), whole)
        case AnyOf():
            return any_of((part_of(each, fields, whole) for each in condition.conditions), whole)


def _equal(field: Field, _: Operator, operands: Sequence[Operand], __: range) -> Part:
    return field.equal(operands)


def _unequal(field: Field, _: Operator, operands: Sequence[Operand], whole: range) -> Part:
    return Outside(whole, field.equal(operands))


def _within(field: Field, operator: Operator, operands: Sequence[Operand], _: range) -> Part:
    return field.within(operator, operands[0])


def _containing(field: Field, _: Operator, operands: Sequence[Operand], __: range) -> Part:
    return field.containing(str(operands[0].value))


def _filled(field: Field, _: Operator, operands: Sequence[Operand], whole: range) -> Part:
    filled = field.filled()
    return filled if operands[0].value else Outside(whole, filled)


_LOOKUPS: Mapping[Operator, Lookup] = {
    "$eq": _equal,
    "$ne": _unequal,
    "$in": _equal,
    "$nin": _unequal,
    "$lt": _within,
    "$lte": _within,
    "$gt": _within,
    "$gte": _within,
    "$text": _containing,
    "$exists": _filled,
}
